import { PortError } from "../../../port-error.ts"

/** Of the file system, and PostgreSQL's `disk_full`. */
const DISK_FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "53100"])
/** A server that stops, crashes, starts or is not there; and connections that broke (class 08). */
const NOT_THERE = /^(57P0[1-3]|08...|ECONN(RESET|REFUSED)|EPIPE)$/

/** The error as the port's callers know it; one that nobody expected stays as it is. */
export const asPortError = (error: unknown): unknown => {
  if (error instanceof PortError || !(error instanceof Error)) return error
  const code = "code" in error && typeof error.code === "string" ? error.code : ""
  if (DISK_FULL.has(code)) return new PortError("unavailable", "the disk is full", error)
  // `pg` gives the end of a connection no code.
  if (NOT_THERE.test(code) || error.message.startsWith("Connection terminated"))
    return new PortError("unavailable", "the database stopped meanwhile", error)
  return error
}

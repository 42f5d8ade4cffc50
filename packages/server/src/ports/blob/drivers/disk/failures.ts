import { PortError } from "../../../port-error.ts"

export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined

const FULL: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT"])

/** What the file system said, as the port says it. */
export const asPortError = (error: unknown): PortError => {
  if (error instanceof PortError) return error
  const code = codeOf(error)
  if (code === "ENOENT") return new PortError("missing", "there is no such blob", error)
  if (FULL.has(code)) return new PortError("unavailable", "the disk of the blobs is full", error)
  return new PortError("unavailable", `the disk of the blobs failed: ${code ?? error}`, error)
}

export const rejectAsPortError = (error: unknown): never => {
  throw asPortError(error)
}

/** What callers are told when a workload cannot serve them. */
import { Fault, fault } from "../../kernel/fault.ts"
import { PortError } from "../../ports/port-error.ts"
import { ImageError } from "../images/image-error.ts"

/** The fault of a command that could not be run. `ended` is the one of a workload that has ended meanwhile. */
export const commandFault = (error: unknown, ended: () => Error | undefined): unknown => {
  if (!(error instanceof PortError)) return error
  if (error.kind === "refused")
    return fault("invalid_parameter", { reason: "the program or the working directory does not exist" })
  return ended() ?? fault("service_unavailable", undefined, { internal: error })
}

/** What is on record of a workload that did not start. */
export const reasonOf = (error: unknown): string =>
  error instanceof ImageError ? error.message : "it could not be started"

/** What the caller of a start is told of a workload that did not start. */
export const startFault = (error: unknown): Fault => {
  if (error instanceof Fault) return error
  if (error instanceof ImageError) return fault("image_unavailable", { reason: error.message })
  return fault("host_unavailable", undefined, { internal: error })
}

const WAIT_MS_MAX = 30_000

/** Waits for a start, but not for ever, and not for a caller who went away. */
export const awaitStart = async <Result>(
  starting: Promise<Result>,
  signal: AbortSignal,
): Promise<Result | undefined> => {
  const over = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => over.resolve(undefined), WAIT_MS_MAX)
  const abandon = () => over.resolve(undefined)
  signal.addEventListener("abort", abandon, { once: true })
  try {
    return await Promise.race([starting, over.promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener("abort", abandon)
  }
}

/**
 * The platform cannot start for a reason its operator can mend.
 * `message` is one sentence that says what is wrong, `hint` one that says what to do; no stack is worth showing.
 */
export class StartupError extends Error {
  override readonly name = "StartupError"
  readonly hint: string

  constructor(message: string, hint: string, options?: ErrorOptions) {
    super(message, options)
    this.hint = hint
  }
}

const OTHER_DIRECTORY = "or choose another directory through SVC_DATA_DIR"

const STORAGE_FAULTS: Readonly<Record<string, readonly [reason: string, hint: string]>> = {
  ENOSPC: ["the disk is full", `Free some space, ${OTHER_DIRECTORY}.`],
  EDQUOT: ["the disk quota is used up", `Free some space, ${OTHER_DIRECTORY}.`],
  EROFS: ["the file system is read-only", `Mount it writable, ${OTHER_DIRECTORY}.`],
  EACCES: ["permission is denied", `Start Svc as the user who owns it, ${OTHER_DIRECTORY}.`],
  EPERM: ["the operation is not permitted", `Start Svc as the user who owns it, ${OTHER_DIRECTORY}.`],
  ENOTDIR: ["a part of the path is not a directory", `Move that file away, ${OTHER_DIRECTORY}.`],
  EEXIST: ["a file of that name is in the way", `Move that file away, ${OTHER_DIRECTORY}.`],
}

/** The error code of a failed system call (`ENOSPC`), or undefined for anything else. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined

/**
 * Runs file system calls, and turns a failed one into a StartupError that reads "Svc cannot <purpose>: <reason>."
 * An error that is no system call's is a bug, and passes unchanged.
 */
export const onDisk = <Result>(purpose: string, work: () => Result): Result => {
  try {
    return work()
  } catch (error) {
    const code = errorCode(error)
    if (code === undefined || error instanceof StartupError) throw error
    const [reason, hint] = STORAGE_FAULTS[code] ?? [code, `Look at the directory, ${OTHER_DIRECTORY}.`]
    throw new StartupError(`Svc cannot ${purpose}: ${reason}.`, hint, { cause: error })
  }
}

/** Files of workloads as callers send them, and what the platform says when a workload will not have them. */
import { posix } from "node:path"
import { WORKLOAD_FILES_MAX } from "@svc/contract"
import { type Fault, fault } from "../../kernel/fault.ts"
import { PortError } from "../../ports/port-error.ts"
import type { FileRefusal, Guest, GuestUser, Roots } from "../../ports/runtime/port.ts"

export interface FileInput {
  readonly path: string
  readonly content?: string
  readonly content_base64?: string
  readonly encoding?: "utf-8" | "base64"
  readonly mode?: string
  readonly owner?: GuestUser
}

export interface GuestFile {
  readonly path: string
  readonly bytes: Buffer
  readonly mode: number | undefined
  readonly user: GuestUser | undefined
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

const bytesOf = ({ path, content, content_base64, encoding = "utf-8" }: FileInput): Buffer => {
  if ((content === undefined) === (content_base64 === undefined))
    throw fault("invalid_parameter", { reason: `${path} needs either content or content_base64` })
  if (content !== undefined && encoding === "utf-8") return Buffer.from(content)
  const text = content ?? content_base64 ?? ""
  if (!BASE64.test(text)) throw fault("invalid_parameter", { reason: `the content of ${path} is not base64` })
  return Buffer.from(text, "base64")
}

/** Reads all files of a request before any is written. Throws what is wrong with the first that is. */
export const readFileInputs = (
  files: readonly FileInput[],
  pathOf: (path: string) => string,
): GuestFile[] => {
  if (files.length === 0 || files.length > WORKLOAD_FILES_MAX) throw fault("too_many_files")
  return files.map(file => ({
    path: pathOf(file.path),
    bytes: bytesOf(file),
    mode: file.mode === undefined ? undefined : Number.parseInt(file.mode, 8),
    user: file.owner,
  }))
}

/** Whether a normalized absolute path is something below one of the roots; links on it are the workload's to judge. */
export const isBelow = (path: string, roots: Roots): boolean =>
  roots.some(root => path.startsWith(`${root}/`) && path.length > root.length + 1)

/** The absolute path that is meant, seen from `cwd`. */
export const resolveGuestPath = (path: string, cwd: string): string => posix.resolve("/", cwd, path)

const refusalOf = (error: PortError): FileRefusal | undefined =>
  (error.cause as { readonly reason?: FileRefusal } | undefined)?.reason

/** Nothing that can be read is at the path: it is missing, a folder or a device, or leads out of the roots. */
export const isNoFile = (error: unknown): boolean =>
  error instanceof PortError && (error.kind === "missing" || error.kind === "refused")

/** The fault of a file call that failed; `outside` is the one of a path that leaves the roots. */
export const fileFault = (error: unknown, path: string, outside: (path: string) => Fault): unknown => {
  if (!(error instanceof PortError)) return error
  if (error.kind === "missing") return fault("file_not_found", { path })
  if (error.kind === "unavailable") return fault("service_unavailable", undefined, { internal: error })
  const reason = refusalOf(error)
  if (reason === "no_space") return fault("invalid_parameter", { reason: "the workload's disk is full" })
  if (reason === "not_a_file") return fault("invalid_parameter", { reason: `${path} cannot be a file` })
  return outside(path)
}

export const writeFiles = async (
  guest: Guest,
  files: readonly GuestFile[],
  { roots, user, outside }: { roots: Roots; user: GuestUser; outside: (path: string) => Fault },
): Promise<void> => {
  for (const { path, bytes, mode, user: owner } of files) {
    const options = { roots, user: owner ?? user, ...(mode !== undefined && { mode }) }
    try {
      await guest.writeFile(path, bytes, options)
    } catch (error) {
      throw fileFault(error, path, outside)
    }
  }
}

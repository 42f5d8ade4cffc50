/** Commands, files and figures of sandboxes that run. */
import { finished, pipeline, type Readable, Transform } from "node:stream"
import { SANDBOX_FILE_BYTES_MAX } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { Fault, fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Guest } from "../../ports/runtime/port.ts"
import type { CommandInput } from "../../services/workloads/commands.ts"
import {
  type FileInput,
  fileFault,
  isBelow,
  isNoFile,
  readFileInputs,
  resolveGuestPath,
  writeFiles,
} from "../../services/workloads/files.ts"
import type { TerminalInput } from "../../services/workloads/terminals.ts"
import type { Workloads } from "../../services/workloads/workloads.ts"
import type { SandboxItem } from "./policy.ts"
import { GUEST_ROOTS } from "./rules.ts"
import type { SandboxRow } from "./store.ts"

const outside = (path: string) => fault("path_outside_guest_roots", { path })

/** What the path says; where its links lead is the workload's to judge. */
const checkedPath = (path: string, cwd: string): string => {
  const absolute = resolveGuestPath(path, cwd)
  if (!isBelow(absolute, GUEST_ROOTS)) throw outside(path)
  return absolute
}

/**
 * Where a path of a URL may lead, the likelier place first. One that begins with the name of a root may be absolute
 * without its first slash; any other begins where commands do, as it does in `writeFiles`.
 */
const urlPaths = (path: string, cwd: string): readonly string[] => {
  const absolute = resolveGuestPath(path, "/")
  const relative = resolveGuestPath(path, cwd)
  if (path.startsWith("/")) return [absolute]
  return isBelow(absolute, GUEST_ROOTS) ? [absolute, relative] : [relative]
}

const readFirst = async (guest: Guest, paths: readonly string[]) => {
  for (const path of paths.filter(one => isBelow(one, GUEST_ROOTS))) {
    try {
      return await guest.readFile(path, GUEST_ROOTS)
    } catch (error) {
      if (!isNoFile(error)) throw error
    }
  }
  return undefined
}

/** Breaks off a body that is too large, and so whatever is written of it. */
const bounded = (source: Readable): Transform => {
  let bytes = 0
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes <= SANDBOX_FILE_BYTES_MAX) done(null, chunk)
      else done(fault("payload_too_large", { bytes: SANDBOX_FILE_BYTES_MAX }))
    },
  })
  // A break of either ends both; whoever reads `limit` is told.
  pipeline(source, limit, () => undefined)
  return limit
}

interface WriteInput {
  readonly id: string
  readonly files: readonly FileInput[]
  readonly cwd?: string
}

export const useHandlers = (use: Workloads<SandboxRow, SandboxItem>["use"]) => ({
  runCommand: async ({ id, ...input }: { id: string } & CommandInput, call: Call) => ({
    id: newId(),
    ...(await use.runCommand(call, id, input)),
  }),
  streamCommand: ({ id, ...input }: { id: string } & CommandInput, call: Call) =>
    use.streamCommand(call, id, input),
  terminal: ({ id, ...input }: { id: string } & TerminalInput, call: Call) =>
    use.openTerminal(call, id, input),
  metrics: ({ id }: { id: string }, call: Call) => use.metrics(call, id),

  writeFiles: ({ id, files, cwd }: WriteInput, call: Call) =>
    use.with(call, id, async ({ guest, item: { defaults } }) => {
      const base = cwd ?? defaults.cwd
      const read = readFileInputs(files, path => checkedPath(path, base))
      await writeFiles(guest, read, { roots: GUEST_ROOTS, user: defaults.user, outside })
    }),

  putFile: ({ id, path }: { id: string; path: string }, call: Call) =>
    use.with(call, id, async ({ guest, item: { defaults } }) => {
      const [wanted = path] = urlPaths(path, defaults.cwd)
      const absolute = checkedPath(wanted, "/")
      const body = bounded(call.stream)
      try {
        await guest.writeFile(absolute, body, { roots: GUEST_ROOTS, user: defaults.user })
      } catch (error) {
        throw body.errored instanceof Fault ? body.errored : fileFault(error, path, outside)
      }
    }),

  async readFile({ id, path }: { id: string; path: string }, call: Call) {
    const live = await use.usable(call, id)
    const paths = urlPaths(path, live.item.defaults.cwd)
    const found = await readFirst(live.guest, paths).catch(error => {
      throw fileFault(error, path, outside)
    })
    if (!found) throw fault("file_not_found", { path })
    const { stat, bytes } = found
    const held = use.hold(live)
    finished(bytes, () => held[Symbol.dispose]())
    call.setHeader("content-type", "application/octet-stream")
    call.setHeader("content-length", String(stat.sizeBytes))
    call.setHeader("last-modified", stat.modifiedAt.toUTCString())
    return bytes
  },
})

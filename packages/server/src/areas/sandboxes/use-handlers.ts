/** Commands, files and figures of sandboxes that run. */
import { finished, pipeline, type Readable, Transform } from "node:stream"
import { SANDBOX_FILE_BYTES_MAX } from "@svc/contract"
import type { Hosts } from "../../core/hosts/hosts.ts"
import { collectCommand, streamCommand } from "../../core/workloads/command-replies.ts"
import { type CommandInput, commandOf } from "../../core/workloads/commands.ts"
import {
  type FileInput,
  fileFault,
  isBelow,
  isNoFile,
  readFileInputs,
  resolveGuestPath,
  writeFiles,
} from "../../core/workloads/files.ts"
import type { Fleet } from "../../core/workloads/fleet.ts"
import { commandFault } from "../../core/workloads/served.ts"
import { checkEnv } from "../../core/workloads/shape.ts"
import type { TerminalInput, Terminals } from "../../core/workloads/terminals.ts"
import { readMetrics } from "../../core/workloads/usage.ts"
import type { Live } from "../../core/workloads/workload.ts"
import type { Call } from "../../kernel/call.ts"
import { Fault, fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Guest, RuntimePort } from "../../ports/runtime/port.ts"
import type { SandboxItem } from "./items.ts"
import { notRunning, usable } from "./lookup.ts"
import { GUEST_ROOTS } from "./rules.ts"

export interface UseHandlerNeeds {
  readonly fleet: Fleet<SandboxItem>
  readonly hosts: Hosts
  readonly runtime: RuntimePort
  readonly terminals: Terminals<SandboxItem>
}

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

const commandHandlers = (needs: UseHandlerNeeds) => {
  const { fleet } = needs
  const refused = (error: unknown, { item }: Live<SandboxItem>) =>
    commandFault(error, () => (fleet.find(item.spec.id) ? undefined : notRunning("STOPPED")))

  return {
    async runCommand({ id, ...input }: { id: string } & CommandInput, call: Call) {
      const live = await usable(needs, call, id)
      checkEnv(input.env)
      using _held = fleet.hold(live)
      try {
        const command = commandOf(input, live.item.defaults)
        return { id: newId(), ...(await collectCommand(live.guest, command, input, call.signal)) }
      } catch (error) {
        throw refused(error, live)
      }
    },

    async streamCommand({ id, ...input }: { id: string } & CommandInput, call: Call) {
      const live = await usable(needs, call, id)
      checkEnv(input.env)
      const held = fleet.hold(live)
      try {
        const command = commandOf(input, live.item.defaults)
        const stream = await streamCommand(live.guest, command, input, call.signal)
        stream.once("close", () => held[Symbol.dispose]())
        call.setHeader("content-type", "text/event-stream")
        call.setHeader("cache-control", "no-store")
        return stream
      } catch (error) {
        held[Symbol.dispose]()
        throw refused(error, live)
      }
    },

    terminal: async ({ id, ...input }: { id: string } & TerminalInput, call: Call) => {
      const live = await usable(needs, call, id)
      call.describe({ targets: [{ type: "sandbox", id }] })
      try {
        await needs.terminals.open(call, live, input)
      } catch (error) {
        throw refused(error, live)
      }
    },
  }
}

export const useHandlers = (needs: UseHandlerNeeds) => {
  const { fleet, runtime } = needs
  return {
    ...commandHandlers(needs),

    async writeFiles(
      { id, files, cwd }: { id: string; files: readonly FileInput[]; cwd?: string },
      call: Call,
    ) {
      const live = await usable(needs, call, id)
      using _held = fleet.hold(live)
      const { item, guest } = live
      const base = cwd ?? item.defaults.cwd
      const read = readFileInputs(files, path => checkedPath(path, base))
      await writeFiles(guest, read, { roots: GUEST_ROOTS, user: item.defaults.user, outside })
    },

    async putFile({ id, path }: { id: string; path: string }, call: Call) {
      const live = await usable(needs, call, id)
      using _held = fleet.hold(live)
      const [wanted = path] = urlPaths(path, live.item.defaults.cwd)
      const absolute = checkedPath(wanted, "/")
      const body = bounded(call.stream)
      const { user } = live.item.defaults
      try {
        await live.guest.writeFile(absolute, body, { roots: GUEST_ROOTS, user })
      } catch (error) {
        throw body.errored instanceof Fault ? body.errored : fileFault(error, path, outside)
      }
    },

    async readFile({ id, path }: { id: string; path: string }, call: Call) {
      const live = await usable(needs, call, id)
      const paths = urlPaths(path, live.item.defaults.cwd)
      const found = await readFirst(live.guest, paths).catch(error => {
        throw fileFault(error, path, outside)
      })
      if (!found) throw fault("file_not_found", { path })
      const { stat, bytes } = found
      const held = fleet.hold(live)
      finished(bytes, () => held[Symbol.dispose]())
      call.setHeader("content-type", "application/octet-stream")
      call.setHeader("content-length", String(stat.sizeBytes))
      call.setHeader("last-modified", stat.modifiedAt.toUTCString())
      return bytes
    },

    async metrics({ id }: { id: string }, call: Call) {
      return await readMetrics(runtime, await usable(needs, call, id), call.now)
    },
  }
}

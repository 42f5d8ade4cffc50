/** The open terminals of an area's workloads. */

import { TERMINALS_MAX } from "@svc/contract"
import { createStanding, type StandingNeeds } from "../../core/standing.ts"
import type { Call, Handshake, Principal } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { every, stopAll } from "../../kernel/every.ts"
import { fault } from "../../kernel/fault.ts"
import type { Command, Guest, GuestUser } from "../../ports/runtime/port.ts"
import { argvOf, type CommandDefaults, LOGIN_SHELL } from "./commands.ts"
import type { Fleet } from "./fleet.ts"
import { closeCodes, serveTerminal, type TerminalSession } from "./terminal-session.ts"
import type { Live, Workload } from "./workload.ts"

export interface TerminalInput {
  readonly command?: string
  readonly cwd?: string
  readonly user?: GuestUser
  readonly columns?: number
  readonly rows?: number
  readonly term?: string
  readonly tty?: boolean
  readonly window?: number
}

export interface TerminalsNeeds<Item extends Workload> extends StandingNeeds {
  readonly fleet: Fleet<Item>
  readonly changes: Pick<Changes, "subscribe">
  /** Aborts when the platform begins to stop. */
  readonly stopping: AbortSignal
}

export interface Terminals<Item extends Workload> extends AsyncDisposable {
  /** Runs a command whose terminal is the connection of the call, which is yet to be answered. */
  open(call: Call, live: Live<Item>, input: TerminalInput): Promise<void>
}

const PING_EVERY_MS = 30_000
const STANDING_EVERY_MS = 15_000

const commandOf = (input: TerminalInput, defaults: CommandDefaults): Command => {
  const { command, columns = 80, rows = 24, term, tty = true } = input
  return {
    argv: command === undefined ? LOGIN_SHELL : argvOf({ command }),
    cwd: input.cwd ?? defaults.cwd,
    user: input.user ?? defaults.user,
    env: { ...defaults.env, ...(tty && term !== undefined && { TERM: term }) },
    ...(tty && { terminal: { columns, rows } }),
  }
}

/**
 * Throws where the request is no handshake; first what a handshake would be refused for, because a browser's script is
 * not told that, and asks by a request that is none.
 */
const handshakeOf = async (call: Call, guest: Guest, command: Command): Promise<Handshake> => {
  try {
    return call.handshake
  } catch (error) {
    const { terminal: _, ...piped } = command
    await (await guest.exec({ ...piped, argv: ["/bin/sh", "-c", ":"] })).exited
    throw error
  }
}

interface Open {
  readonly session: TerminalSession
  readonly principal: Principal
  readonly organizationId: string
}

/** Counts terminals by workload, each of which is in use while it has one. */
const createPlaces = <Item extends Workload>(fleet: Fleet<Item>) => {
  const taken = new Map<string, number>()
  return (live: Live<Item>): Disposable => {
    const { id } = live.item.spec
    const count = taken.get(id) ?? 0
    if (count >= TERMINALS_MAX) throw fault("too_many_terminals", { limit: TERMINALS_MAX })
    taken.set(id, count + 1)
    const held = fleet.hold(live)
    return {
      [Symbol.dispose]() {
        held[Symbol.dispose]()
        const left = (taken.get(id) ?? 1) - 1
        if (left > 0) taken.set(id, left)
        else taken.delete(id)
      },
    }
  }
}

/** Ends the terminals of callers who may not have them any more. */
const createWarden = (needs: StandingNeeds, open: ReadonlySet<Open>) => {
  const isStanding = createStanding(needs)
  return async (concerns: (terminal: Open) => boolean): Promise<void> => {
    const checked = [...open].filter(concerns).map(async ({ session, principal, organizationId }) => {
      if (!(await isStanding(principal, organizationId)))
        session.end(closeCodes.policy, "the key or session may not do this any more")
    })
    // A check that fails is repeated soon, and does not end the session.
    await Promise.allSettled(checked)
  }
}

export const createTerminals = <Item extends Workload & { readonly defaults: CommandDefaults }>(
  needs: TerminalsNeeds<Item>,
): Terminals<Item> => {
  const { fleet, clock, changes, stopping } = needs
  const open = new Set<Open>()
  const takePlace = createPlaces(fleet)
  const check = createWarden(needs, open)
  changes.subscribe("key", id => void check(({ principal }) => id === undefined || principal.id === id))
  changes.subscribe("member", id => void check(({ principal }) => id === undefined || principal.id === id))
  changes.subscribe(
    "organization",
    id => void check(({ organizationId }) => id === undefined || organizationId === id),
  )
  changes.subscribe(
    "project",
    id => void check(({ principal }) => id === undefined || principal.project?.id === id),
  )
  const timers = [
    every(clock, STANDING_EVERY_MS, () => check(() => true)),
    every(clock, PING_EVERY_MS, () => {
      for (const { session } of open) session.beat()
    }),
  ]
  const stop = () => {
    for (const { session } of open) session.end(closeCodes.platformStops, "the server is shutting down")
  }
  stopping.addEventListener("abort", stop)

  return {
    async open(call, live, input) {
      using places = new DisposableStack()
      places.use(takePlace(live))
      const { principal, organization } = call
      const { guest, item } = live
      const command = commandOf(input, item.defaults)
      const handshake = await handshakeOf(call, guest, command)
      const process = await guest.exec(command)
      const place = places.move()
      const { id } = item.spec
      handshake.take(socket => {
        if (!socket) {
          process.kill("SIGKILL")
          return place.dispose()
        }
        const { tty = true, window } = input
        const isEnding = () => fleet.find(id) !== live
        const session = serveTerminal(socket, process, { tty, window, isEnding })
        const terminal = { session, principal, organizationId: organization.id }
        open.add(terminal)
        void guest.ended.then(() => session.end(closeCodes.workloadEnded, "the machine has ended"))
        void session.over.then(() => {
          open.delete(terminal)
          place.dispose()
        })
        if (stopping.aborted) stop()
      })
    },
    async [Symbol.asyncDispose]() {
      stopping.removeEventListener("abort", stop)
      stop()
      await stopAll(timers)
    },
  }
}

/** `svc selftest`: calls what is safe to call on a running platform and says what answers. */
import { randomUUID } from "node:crypto"
import { allOperations, isOurs, type Operation } from "@svc/contract"
import { type Svc, SvcError } from "@svc/sdk"
import { commandOf, fieldsOf } from "../commands.ts"
import { connectWithKey } from "../connect.ts"
import { printable, printJson } from "../output.ts"
import { exitCodes } from "../terminal.ts"
import type { Extra } from "./extra.ts"

interface Outcome {
  readonly name: string
  /** `unavailable`: the platform says that it cannot do this here, and why. */
  readonly state: "pass" | "unavailable" | "skip" | "fail"
  readonly detail: string
}

/** One harmless change for each area that has one. Each cleans up after itself; it throws what went wrong. */
const writes: Readonly<Record<string, (svc: Svc) => Promise<void>>> = {
  async kv(svc) {
    const key = `selftest:${randomUUID()}`
    const value = { at: Date.now() }
    await svc.kv.set({ key, value, ttl_seconds: 60 })
    const found = await svc.kv.get({ key })
    const { deleted } = await svc.kv.del({ key })
    if (JSON.stringify(found.value) !== JSON.stringify(value))
      throw new Error("read another value than was set")
    if (deleted !== 1) throw new Error("did not delete the key")
  },
}

export const selftest: Extra = async (globals, _words, terminal) => {
  const svc = await connectWithKey(globals, terminal, 1)
  const outcomes: Outcome[] = []
  const note = (outcome: Outcome) => {
    outcomes.push(outcome)
    if (!globals.json) terminal.out.line(lineOf(outcome))
  }

  for (const operation of allOperations.filter(isPlainRead)) note(await tryRead(svc, operation))
  for (const [area, write] of Object.entries(writes))
    note(await outcomeOf(`${area}: a write`, () => write(svc)))

  const count = (state: Outcome["state"]) => outcomes.filter(outcome => outcome.state === state).length
  const { pass, unavailable, skip, fail } = Object.fromEntries(
    (["pass", "unavailable", "skip", "fail"] as const).map(state => [state, count(state)]),
  )
  if (globals.json) printJson({ outcomes, pass, unavailable, skip, fail }, terminal.out)
  else terminal.out.line(`\n${pass} pass, ${unavailable} unavailable, ${skip} skipped, ${fail} fail`)
  return fail ? exitCodes.refused : undefined
}

const lineOf = ({ name, state, detail }: Outcome): string =>
  `${state.padEnd(11)}  ${name.padEnd(32)}  ${printable(detail)}`.trimEnd()

/** Changes nothing and names no particular thing. */
const isPlainRead = (operation: Operation): boolean =>
  operation.effect === "read" && !operation.params && isOurs(operation)

const needsOf: Readonly<Record<string, string>> = {
  session: "needs a signed-in session",
  publishable: "needs a publishable key",
}

const tryRead = async (svc: Svc, operation: Operation): Promise<Outcome> => {
  const name = commandOf(operation)
  const need = typeof operation.scope === "string" ? needsOf[operation.scope] : undefined
  if (need) return { name, state: "skip", detail: need }
  const required = fieldsOf(operation).filter(field => field.required)
  const input = operation.example ?? {}
  const missing = required.filter(field => !(field.name in input)).map(field => `--${field.flag}`)
  if (missing.length > 0) return { name, state: "skip", detail: `needs ${missing.join(", ")}` }
  if ((operation.content?.request ?? "json") !== "json")
    return { name, state: "skip", detail: "needs a file" }

  return outcomeOf(name, async () => {
    const { data } = await svc.request<string>(operation.name, input)
    if (data instanceof Response) await data.body?.cancel()
  })
}

const outcomeOf = async (name: string, act: () => Promise<void>): Promise<Outcome> => {
  try {
    await act()
    return { name, state: "pass", detail: "" }
  } catch (error) {
    if (!(error instanceof SvcError)) return { name, state: "fail", detail: String(error) }
    // Without a platform there is nothing to test.
    if (error.status === 0) throw error
    return { name, state: stateOf(error), detail: `${error.status} ${error.code}: ${error.message}` }
  }
}

const stateOf = ({ status, code }: SvcError): Outcome["state"] => {
  if (status === 501 || status === 503) return "unavailable"
  // The key or the plan is at its limits here, which says nothing about the platform.
  return status === 402 || status === 403 || code === "project_required" ? "skip" : "fail"
}

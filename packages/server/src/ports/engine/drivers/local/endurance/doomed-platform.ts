/**
 * A process that opens an engine, runs a bank on it and makes, copies, rests and removes volumes until it is killed.
 * Arguments: data directory, templates, seed, id of the bank, first number of its transfers.
 */
import { randomUUID } from "node:crypto"
import type { Subject } from "../../../conformance/fixture.ts"
import { openLocalEngine } from "../driver.ts"
import { openBank, randomFrom, startTransfers } from "./bank.ts"

export type Deed = "create" | "branch" | "restore" | "rest" | "image" | "destroy"

/** What it tells: a deed before and after, and transfers as they are acknowledged. */
export type PlatformReport =
  | { readonly kind: "begun" | "done"; readonly deed: Deed; readonly id: string }
  | { readonly kind: "failed"; readonly deed: Deed; readonly id: string; readonly reason: string }
  | { readonly kind: "acknowledged"; readonly ids: readonly number[] }

/** The same in each process, so that each knows the passwords. */
export const subjectOf = (id: string): Subject => ({
  ref: { id, pgVersion: 17, tier: "shared" },
  credentials: { owner: `owner-${id}`, reader: `reader-${id}` },
})

const REPORT_EVERY_MS = 10
const VOLUMES_MAX = 4

const run = async ([dataDir = "", templatesDir = "", seedText, bankId = "", firstId]: readonly string[]) => {
  const tell = (told: PlatformReport) => void process.send?.(told)
  const seed = Number(seedText)
  const random = randomFrom(seed)
  const engine = await openLocalEngine({
    dataDir,
    templatesDir,
    log: line => process.stderr.write(`${line}\n`),
  })
  const bank = subjectOf(bankId)
  await engine.create(bank.ref, bank.credentials)
  if (firstId === "0") await openBank(engine, bank)
  const began = new Date()
  const { journal } = startTransfers(engine, bank, { seed, firstId: Number(firstId), writers: 3 })
  let told = 0
  setInterval(() => {
    const ids = journal.acknowledged.slice(told)
    told += ids.length
    if (ids.length > 0) tell({ kind: "acknowledged", ids })
  }, REPORT_EVERY_MS)

  const living: string[] = []
  const deeds: Readonly<Record<Deed, (id: string) => Promise<unknown>>> = {
    create: id => engine.create(subjectOf(id).ref, subjectOf(id).credentials),
    branch: id => engine.branch(bank.ref, subjectOf(id).ref, { kind: "head" }, subjectOf(id).credentials),
    restore: id =>
      engine.branch(
        ...([bank.ref, subjectOf(id).ref] as const),
        { kind: "time", time: new Date(Math.max(began.getTime(), Date.now() - 1_000)) },
        subjectOf(id).credentials,
      ),
    rest: id => engine.suspend(subjectOf(id).ref),
    image: id => engine.prune(subjectOf(id).ref, new Date()),
    destroy: id => engine.destroy(subjectOf(id).ref),
  }
  for (;;) {
    const making = (["create", "branch", "restore"] as const)[Math.floor(random() * 3)] ?? "create"
    const changing = (["rest", "image", "destroy", "destroy"] as const)[Math.floor(random() * 4)] ?? "rest"
    const isNew = living.length === 0 || (living.length < VOLUMES_MAX && random() < 0.6)
    const deed: Deed = isNew ? making : changing
    const at = Math.floor(random() * living.length)
    const id = isNew ? randomUUID() : (living[at] ?? "")
    tell({ kind: "begun", deed, id })
    try {
      await deeds[deed](id)
      if (isNew) living.push(id)
      if (deed === "destroy") living.splice(at, 1)
      tell({ kind: "done", deed, id })
    } catch (error) {
      tell({ kind: "failed", deed, id, reason: `${error}` })
    }
  }
}

if (import.meta.main) await run(process.argv.slice(2))

/**
 * A process of its own on a store, for the tests: says on stdout, a line each, which writes it was told are
 * done.
 */
import { writeSync } from "node:fs"
import { openLmdbKv } from "./driver.ts"

const [path = "", task, owner = ""] = process.argv.slice(2)
const kv = await openLmdbKv({ path })
const acknowledge = (line: string) => writeSync(1, `${line}\n`)

/** Writes new keys for ever, sixteen at a time. */
const writeForEver = async (writer: number): Promise<void> => {
  for (let n = 0; ; n += 1) {
    const key = `${writer}:${n}`
    await kv.set(owner, key, { value: JSON.stringify(key.repeat(20)), expiresAt: null }, 1)
    acknowledge(key)
  }
}

/** Adds one a hundred times to a number that another process adds to as well. */
const addOneHundred = async (): Promise<void> => {
  for (let added = 0; added < 100; ) {
    const entry = await kv.get(owner, "n", 1)
    const write = {
      value: `${Number(entry?.value) + 1}`,
      expiresAt: null,
      onlyIf: { version: entry?.version },
    }
    if ((await kv.set(owner, "n", write, 1)).stored) added += 1
  }
  acknowledge("done")
}

/** Writes twenty megabytes at a time until no more fit, and then, having made room, something small. */
const fillUp = async (): Promise<void> => {
  // The test limits the size of our files. Without a listener the signal would end us before we hear of the
  // error.
  process.on("SIGXFSZ", () => {})
  const value = JSON.stringify("x".repeat(1_000_000))
  let isFull = false
  // Never more than two hundred megabytes, should the limit be missing.
  for (let round = 0; round < 10 && !isFull; round += 1) {
    const keys = Array.from({ length: 20 }, (_, n) => `${round}:${n}`)
    const writes = await Promise.allSettled(
      keys.map(key => kv.set(owner, key, { value, expiresAt: null }, 1)),
    )
    keys.filter((_, n) => writes[n]?.status === "fulfilled").forEach(acknowledge)
    isFull = writes.some(({ status }) => status === "rejected")
  }
  const { ok: isHealthy } = await kv.health()
  await kv.delete(owner, ["0:0", "0:1"], 1)
  await kv.set(owner, "small", { value: "1", expiresAt: null }, 1)
  acknowledge(isFull && !isHealthy ? "small" : "never full")
}

if (task === "fill") await fillUp()
if (task === "write") await Promise.all(Array.from({ length: 16 }, (_, writer) => writeForEver(writer)))
if (task === "add") await addOneHundred()
await kv[Symbol.asyncDispose]()

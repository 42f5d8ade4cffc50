/** A process of its own on a store, for the tests: says on stdout, a line each, which addresses it has published. */
import { randomBytes, randomInt } from "node:crypto"
import { writeSync } from "node:fs"
import { openDiskBlobs } from "./driver.ts"

const [path = "", owner = ""] = process.argv.slice(2)
const blobs = await openDiskBlobs({ path })

const LENGTHS = [10, 5_000, 100_000, 1_500_000]

async function* randomChunks(length: number): AsyncGenerator<Uint8Array> {
  for (let left = length; left > 0; left -= 64 * 1024) yield randomBytes(Math.min(left, 64 * 1024))
}

const publishForEver = async (): Promise<void> => {
  for (;;) {
    const length = randomInt(1, LENGTHS[randomInt(LENGTHS.length)] ?? 10)
    const staged = await blobs.stage(owner, randomChunks(length), { bytesMax: length })
    await staged.publish()
    writeSync(1, `${staged.address}\n`)
  }
}

await Promise.all(Array.from({ length: 8 }, publishForEver))

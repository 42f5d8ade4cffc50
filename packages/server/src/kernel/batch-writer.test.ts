import assert from "node:assert/strict"
import { test } from "node:test"
import { createBatchWriter } from "./batch-writer.ts"

/** A writer whose statements end when the test says so. */
const held = (batchMax: number) => {
  const statements: { readonly items: readonly number[]; end(error?: Error): void }[] = []
  const written: number[] = []
  const failures: unknown[] = []
  const writer = createBatchWriter<number>({
    batchMax,
    write: items =>
      new Promise((resolve, reject) => {
        const after = () => void written.push(...items)
        statements.push({ items, end: error => (error ? reject(error) : resolve(after)) })
      }),
    failed: error => void failures.push(error),
  })
  return { writer, statements, written, failures }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

test("what comes while a statement is under way shares the next one, up to its bound", async () => {
  const { writer, statements, written } = held(3)
  for (const item of [1, 2]) writer.add(item)
  await turn()
  for (const item of [3, 4, 5, 6]) writer.add(item)
  assert.equal(writer.size(), 6)
  for (let at = 0; at < 3; at++) {
    statements[at]?.end()
    await turn()
  }
  assert.deepEqual(
    statements.map(({ items }) => items),
    [[1, 2], [3, 4, 5], [6]],
  )
  assert.deepEqual([written, writer.size()], [[1, 2, 3, 4, 5, 6], 0])
})

test("what could not be written goes first the next time", async () => {
  const { writer, statements, written, failures } = held(10)
  writer.add(1)
  await turn()
  writer.add(2)
  statements[0]?.end(new Error("not now"))
  await turn()
  assert.deepEqual([failures.length, written, writer.size()], [1, [], 2])
  const flushed = writer.flush()
  statements[1]?.end()
  await flushed
  assert.deepEqual(
    [statements[1]?.items, written],
    [
      [1, 2],
      [1, 2],
    ],
  )
})

test("what is forgotten is told to nobody, though it was under way", async () => {
  const { writer, statements, written } = held(10)
  writer.add(1)
  await turn()
  writer.add(2)
  assert.deepEqual(writer.forget(), [1, 2])
  assert.equal(writer.size(), 0)
  statements[0]?.end()
  await turn()
  assert.deepEqual([statements.length, written], [1, []])
})

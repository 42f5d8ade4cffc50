/** What the conformance tests share. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import type { TestContext } from "node:test"
import { PortError, type PortErrorKind } from "../../port-error.ts"
import type { CollectionShape, VectorIndexPort, VectorQuery, VectorRecord } from "../port.ts"

/** An empty index, closed after the test. */
export type OpenIndex = (t: TestContext) => Promise<VectorIndexPort>

export const shapeOf = (rest: Partial<CollectionShape> = {}): CollectionShape => ({
  id: randomUUID(),
  dimension: 2,
  metric: "cosine",
  type: "auto",
  m: 16,
  efConstruction: 128,
  count: 0,
  ...rest,
})

export const record = (id: string, values: readonly number[], metadata: object = {}): VectorRecord => ({
  id,
  values: Float32Array.from(values),
  metadata: JSON.stringify(metadata),
})

export const asking = (vector: readonly number[], rest: Partial<VectorQuery> = {}): VectorQuery => ({
  vector: Float32Array.from(vector),
  topK: 10,
  filter: undefined,
  scoreThreshold: undefined,
  ef: undefined,
  exact: false,
  ...rest,
})

/** A collection that holds these, at position 1. */
export const filled = async (
  index: VectorIndexPort,
  upserts: readonly VectorRecord[],
  rest: Partial<CollectionShape> = {},
): Promise<CollectionShape> => {
  const shape = shapeOf({ dimension: upserts[0]?.values.length ?? 2, ...rest })
  await index.apply(shape, { reset: true, upserts, deletes: [], through: 1 })
  return shape
}

export const idsOf = async (
  index: VectorIndexPort,
  shape: CollectionShape,
  query: VectorQuery,
): Promise<string[]> => (await index.search(shape, query)).matches.map(({ id }) => id)

export const rejectsAs = (kind: PortErrorKind, act: () => unknown): Promise<void> =>
  assert.rejects(
    async () => await act(),
    (error: unknown) => error instanceof PortError && error.kind === kind,
  )

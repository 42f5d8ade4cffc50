import assert from "node:assert/strict"
import { test } from "node:test"
import type { AreaSpec, OperationSpec } from "./dsl.ts"
import * as contract from "./index.ts"

/** The compiler holds these lists to the types: a field that one of them lacks or has too much is an error. */
type FieldsOf<Spec> = Readonly<Record<keyof Spec, true>>

const OPERATION: FieldsOf<OperationSpec> = {
  id: true,
  http: true,
  summary: true,
  description: true,
  scope: true,
  effect: true,
  transaction: true,
  risk: true,
  project: true,
  belongs: true,
  envelope: true,
  audit: true,
  idempotency: true,
  content: true,
  subprotocol: true,
  params: true,
  rest: true,
  query: true,
  headers: true,
  body: true,
  bodyAs: true,
  aliases: true,
  replies: true,
  faults: true,
  meters: true,
  secrets: true,
  textAsJson: true,
  messageBytesMax: true,
  bodyBytesMax: true,
  tooLarge: true,
  limit: true,
  action: true,
  crossOrigin: true,
  optionsHeaders: true,
  nulFields: true,
  extension: true,
  example: true,
}

const CONTENT: FieldsOf<NonNullable<OperationSpec["content"]>> = {
  request: true,
  reply: true,
  requestTypes: true,
  bytesRequired: true,
  replyTypes: true,
}

const AREA: FieldsOf<AreaSpec> & { readonly name: true; readonly specs: true; readonly operations: true } = {
  title: true,
  summary: true,
  project: true,
  belongs: true,
  envelope: true,
  audit: true,
  refusals: true,
  pathProject: true,
  name: true,
  specs: true,
  operations: true,
}

const unknownIn = (declared: object, known: object): string[] =>
  Object.keys(declared).filter(field => !Object.hasOwn(known, field))

test("a declaration has only fields that the language of the contract knows: a misspelt one would have no effect", () => {
  const unknown = Object.values(contract.areas).flatMap(area => [
    ...unknownIn(area, AREA).map(field => `${area.name}: ${field}`),
    ...Object.entries<OperationSpec>(area.specs).flatMap(([key, spec]) =>
      [...unknownIn(spec, OPERATION), ...unknownIn(spec.content ?? {}, CONTENT)].map(
        field => `${area.name}.${key}: ${field}`,
      ),
    ),
  ])
  assert.deepEqual(unknown, [])
})

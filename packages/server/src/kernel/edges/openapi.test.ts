import assert from "node:assert/strict"
import { test } from "node:test"
import { Validator } from "@seriousme/openapi-schema-validator"
import {
  API_VERSION,
  allOperations,
  area,
  faultCodes,
  faults,
  impliedStatuses,
  isOurs,
  type Operation,
  T,
  wireCode,
} from "@svc/contract"
import { Ajv } from "ajv"
import addFormats from "ajv-formats"
import { renderOpenApi } from "./openapi.ts"

type Json = Record<string, unknown>

interface RenderedOperation {
  readonly operationId: string
  readonly security: Record<string, string[]>[]
  readonly parameters?: { $ref?: string; name?: string; in?: string; required?: boolean; schema?: Json }[]
  readonly requestBody?: { required: boolean; content: Record<string, { schema: Json; example?: Json }> }
  readonly responses: Record<
    string,
    {
      $ref?: string
      headers?: Json
      content?: Record<string, { schema: Json }>
      links?: Record<string, { operationId: string; parameters: Record<string, string> }>
    }
  >
}

interface Rendered {
  readonly openapi: string
  readonly info: { version: string }
  readonly tags: { name: string }[]
  readonly paths: Record<string, Record<string, RenderedOperation>>
  readonly components: Record<string, Record<string, Json>>
}

const baseUrl = "http://localhost:4800"
const render = (operations: readonly Operation[]) => renderOpenApi(operations, { baseUrl }) as Rendered

const ours = allOperations.filter(isOurs)
const whole = render(allOperations)

const find = (document: Rendered, { path, method }: Operation): RenderedOperation => {
  const found = document.paths[path]?.[method.toLowerCase()]
  assert.ok(found, `${method} ${path} is not in the document`)
  return found
}

/** Kinds of operations of which the areas may have none yet. */
const Thing = T.Object({ id: T.String(), size: T.Integer() })
const things = area(
  "things",
  { title: "Things", summary: "Everything else", project: "required", belongs: "project" },
  {
    upload: {
      id: "uploadThing",
      http: "PUT /v1/things/{bucket}/{key}",
      summary: "Upload",
      scope: ["storage:write", "admin:full"],
      effect: "write",
      content: { request: "bytes" },
      params: T.Object({ bucket: T.String({ minLength: 3 }) }),
      bodyBytesMax: 64 * 1024 * 1024,
      replies: { 200: Thing, 201: Thing },
      faults: ["bucket_not_found", "conflict"],
    },
    download: {
      id: "downloadThing",
      http: "GET /v1/things/{bucket}/{key}",
      summary: "Download",
      scope: "storage:read",
      effect: "read",
      content: { reply: "bytes" },
      query: T.Object({ version: T.Optional(T.Integer({ minimum: 1 })), part: T.Integer() }),
      replies: { 200: T.Unknown() },
    },
    deploy: {
      id: "deployThing",
      http: "POST /v1/things",
      summary: "Deploy",
      scope: "any",
      effect: "write",
      risk: "high",
      content: { request: "gzip", reply: "sse" },
      replies: { 201: T.Object({ made: Thing }) },
    },
    transcribe: {
      id: "transcribeThing",
      http: "POST /v1/things/transcribe",
      summary: "Transcribe",
      scope: "publishable",
      effect: "read",
      content: { request: "multipart" },
      body: T.Object({ file: T.String(), language: T.Optional(T.String()) }),
      replies: { 204: null },
    },
    manifest: {
      id: "headThing",
      http: "HEAD /v1/things/{bucket}",
      summary: "Look",
      scope: "public",
      effect: "read",
      envelope: "oci",
      replies: { 200: null },
      faults: ["object_not_found"],
    },
  },
)
const { upload, download, deploy, transcribe, manifest } = things.operations
const odd = render(Object.values(things.operations))

test("the document of all operations is valid OpenAPI 3.1, as is one of every other kind of operation", async () => {
  for (const document of [whole, odd]) {
    const { valid, errors } = await new Validator().validate(structuredClone(document) as unknown as Json)
    assert.ok(valid, JSON.stringify(errors, null, 2))
  }
  assert.equal(whole.openapi, "3.1.0")
  assert.equal(whole.info.version, API_VERSION)
})

test("every operation of our own protocol is described, once, under its own operationId", () => {
  const described = Object.values(whole.paths).flatMap(path => Object.values(path))
  assert.deepEqual(described.map(({ operationId }) => operationId).sort(), ours.map(({ id }) => id).sort())
})

test("lengths and counts are whole numbers", () => {
  const counts = [...JSON.stringify(whole).matchAll(/"(?:min|max)(?:Length|Items|Properties)":([^,}]+)/g)]
  assert.ok(counts.length > 100)
  for (const [text, count] of counts) assert.ok(Number.isSafeInteger(Number(count)), text)
})

test("every reference leads somewhere, and nothing in the components is without a use", () => {
  const referred = new Set(
    [...JSON.stringify(whole).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference),
  )
  const offered = Object.entries(whole.components).flatMap(([kind, entries]) =>
    Object.keys(entries).map(name => `#/components/${kind}/${name}`),
  )
  for (const reference of referred)
    assert.ok(reference && offered.includes(reference), `${reference} leads nowhere`)
  // Examples are of our own error shape: what only the registry answers has them for the pages of the codes.
  const ofRegistry = new Set(
    ours
      .filter(({ envelope }) => envelope === "oci")
      .flatMap(({ faults = [] }) => faults.map(code => `#/components/examples/${code}`)),
  )
  const unused = offered.filter(
    name => !referred.has(name) && !ofRegistry.has(name) && !/securitySchemes|Location$/.test(name),
  )
  assert.deepEqual(unused, [])
})

test("an operation describes every status it can answer, and no refusal it cannot", () => {
  for (const operation of ours) {
    const listed = Object.keys(find(whole, operation).responses)
    for (const status of Object.keys(operation.replies))
      assert.ok(listed.includes(status), `${operation.name} ${status}`)
    const own = [400, 429, 500, 503, ...(operation.scope === "public" ? [] : [401, 403])]
    for (const status of own) assert.ok(listed.includes(String(status)), `${operation.name} ${status}`)
    // A default would make every status one that the document describes.
    assert.ok(!listed.includes("default"), operation.name)
    const bodies = ["GET", "HEAD"].includes(operation.method) ? [] : [408, 413, 415]
    for (const status of [...bodies, 406, 431, 504]) assert.ok(listed.includes(String(status)), `${status}`)
    const known = new Set<number>([...impliedStatuses(operation), 431])
    for (const status of listed.filter(status => Number(status) >= 400)) {
      assert.ok(
        known.has(Number(status)) || operation.faults?.some(code => faults[code].status === Number(status)),
        `${operation.name} ${status}`,
      )
    }
  }
})

test("every refusal lists codes of the closed table, each with an example that fits the error schema", () => {
  const known = new Set(faultCodes.map(wireCode))
  const listed = [...JSON.stringify(whole).matchAll(/"x-svc-codes":(\[[^\]]*\])/g)].flatMap(
    ([, codes = "[]"]) => JSON.parse(codes) as string[],
  )
  const fits = addFormats.default(new Ajv({ strict: false })).compile(whole.components.schemas?.Error ?? {})
  for (const code of listed) {
    assert.ok(known.has(code), code)
    if (code === "approval_required") continue
    const example = whole.components.examples?.[code]?.value
    assert.ok(fits(example), `${code}: ${JSON.stringify(fits.errors)}`)
  }
})

test("a request body refuses unknown fields as the validator does, and its example is one it accepts", () => {
  for (const operation of ours.filter(({ body }) => body)) {
    const content = find(whole, operation).requestBody?.content ?? {}
    const body = content["application/json"] ?? content["application/x-www-form-urlencoded"]
    assert.ok(body, operation.name)
    const ajv = addFormats.default(new Ajv({ strict: false }))
    const validate = ajv.compile({ ...body.schema, components: whole.components })
    // Where the whole body is one field, what its fields are is the caller's; an outside protocol's body is declared open.
    const { additionalProperties } = operation.body as { additionalProperties?: unknown }
    const refuses = operation.bodyAs === undefined && additionalProperties !== true
    assert.equal(validate({ ...body.example, no_such_field: 1 }), !refuses, operation.name)
    if (operation.example)
      assert.ok(validate(body.example), `${operation.name}: ${ajv.errorsText(validate.errors)}`)
  }
})

test("each kind of content is described by its media type", () => {
  assert.deepEqual(Object.keys(find(odd, upload).requestBody?.content ?? {}), ["application/octet-stream"])
  assert.deepEqual(Object.keys(find(odd, deploy).requestBody?.content ?? {}), ["application/gzip"])
  assert.deepEqual(Object.keys(find(odd, transcribe).requestBody?.content ?? {}), ["multipart/form-data"])
  assert.deepEqual(Object.keys(find(odd, download).responses[200]?.content ?? {}), [
    "application/octet-stream",
  ])
  assert.deepEqual(Object.keys(find(odd, deploy).responses[201]?.content ?? {}), [
    "application/json",
    "text/event-stream",
  ])
  assert.equal(find(odd, transcribe).responses[204]?.content, undefined)
})

/** `storage.getObject` of the document. */
const rendered = (name: string) => {
  const operation = allOperations.find(declared => declared.name === name)
  assert.ok(operation, name)
  return find(whole, operation)
}

test("headers that an operation reads are its parameters, and bytes are of the types that it sends and takes", () => {
  const headers = (name: string) =>
    rendered(name)
      .parameters?.filter(({ in: place }) => place === "header")
      .map(({ name }) => name)
  assert.deepEqual(headers("storage.getObject"), [
    ...["If-Match", "If-Unmodified-Since", "If-None-Match", "If-Modified-Since", "Range", "If-Range"],
  ])
  assert.ok(headers("storage.patchUpload")?.includes("Upload-Offset"))
  assert.ok(headers("sql.neonQuery")?.includes("Neon-Connection-String"))
  const types = (name: string) => Object.keys(rendered(name).responses[200]?.content ?? {})
  assert.deepEqual(types("storage.getObject"), ["application/octet-stream", "*/*"])
  assert.deepEqual(types("email.inboxPage"), ["text/html"])
  assert.deepEqual(types("email.trackOpen"), ["image/gif"])
})

test("fields that exclude or replace each other are described, and a body that must hold one of them is required", () => {
  const ajv = addFormats.default(new Ajv({ strict: false }))
  const accepts = (name: string, value: object): boolean => {
    const schema = rendered(name).requestBody?.content["application/json"]?.schema
    return ajv.validate({ ...schema, components: whole.components }, value)
  }
  assert.equal(rendered("encryption.encrypt").requestBody?.required, true)
  assert.ok(accepts("encryption.encrypt", { plaintext: "a" }))
  assert.ok(accepts("encryption.encrypt", { items: [{ plaintext: "a" }] }))
  assert.ok(!accepts("encryption.encrypt", {}))
  assert.ok(!accepts("encryption.encrypt", { plaintext: "a", items: [{ plaintext: "a" }] }))
  assert.ok(!accepts("events.publish", { events: [{ event_type: "a" }], source: "b" }))
  const template = { name: "welcome", subject: "Hello" }
  assert.ok(accepts("email.createTemplate", { ...template, html: null, mjml: "<mjml/>" }))
  assert.ok(!accepts("email.createTemplate", { ...template, html: null }))
  const times = { target_time: "2026-01-01T00:00:00Z", target_lsn: "0/0" }
  assert.ok(accepts("databases.pitr", {}))
  assert.ok(!accepts("databases.pitr", times))
})

test("who may call is described: keys by scope, sessions, publishable keys, anyone", () => {
  const session = { consoleSession: [] }
  assert.deepEqual(find(odd, upload).security, [
    { bearerKey: ["storage:write"] },
    { bearerKey: ["admin:full"] },
    session,
  ])
  assert.deepEqual(find(odd, deploy).security, [{ bearerKey: [] }, session])
  assert.deepEqual(find(odd, transcribe).security, [{ publishableKey: [] }])
  assert.deepEqual(find(odd, manifest).security, [])
})

test("path, query and header parameters are described, the path's all required", () => {
  const named = (operation: Operation) =>
    find(odd, operation).parameters?.map(({ $ref, name, required = false }) => [
      $ref?.split("/").at(-1) ?? name,
      required,
    ])
  assert.deepEqual(named(upload), [
    ["bucket", true],
    ["key", true],
    ["Project", false],
    ["IdempotencyKey", false],
  ])
  assert.deepEqual(named(download), [
    ["bucket", true],
    ["key", true],
    ["version", false],
    ["part", true],
    ["Project", false],
  ])
})

test("only a high-risk operation describes the reply that waits for approval", () => {
  assert.ok(find(odd, deploy).responses[202]?.headers?.location)
  assert.equal(find(odd, upload).responses[202], undefined)
})

test("a reply that makes a thing links to the operations that name it in their path", () => {
  const linked = ours.flatMap(operation =>
    Object.values(find(whole, operation).responses).flatMap(({ links = {} }) => Object.values(links)),
  )
  for (const { operationId, parameters } of linked) {
    const { path = "" } = ours.find(({ id }) => id === operationId) ?? {}
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `path.${name}`)
    assert.deepEqual(Object.keys(parameters).sort(), named.sort(), operationId)
  }
  const linksOf = (name: string) => rendered(name).responses[201]?.links ?? {}
  assert.deepEqual(linksOf("databases.createBranch").deleteDatabaseBranch?.parameters, {
    "path.id": "$request.path.id",
    "path.branch_id": "$response.body#/data/id",
  })
  assert.equal(linksOf("computers.create").computerGet?.parameters["path.id"], "$response.body#/id")
  assert.ok(linked.length >= 130, `${linked.length}`)
})

test("a payload travels in its envelope, a list with the request's id beside its fields", () => {
  const schemaOf = (name: string, status: number) => {
    const operation = allOperations.find(declared => declared.name === name)
    assert.ok(operation)
    const content = find(whole, operation).responses[status]?.content?.["application/json"]
    return content?.schema as { properties?: Json; required?: string[]; $ref?: string }
  }
  assert.deepEqual(schemaOf("keys.get", 200).required, ["data", "request_id"])
  assert.deepEqual(schemaOf("keys.get", 200).properties?.data, { $ref: "#/components/schemas/Key" })
  assert.deepEqual(schemaOf("keys.list", 200).required, ["data", "total", "limit", "offset", "request_id"])
  assert.ok(schemaOf("kv.set", 200).$ref, "a bare reply has no envelope")
})

test("a schema that operations share is a component, and one used once stays in its place", () => {
  assert.ok(odd.components.schemas?.UploadThingReply)
  assert.deepEqual(Object.keys(odd.components.schemas ?? {}), ["Error", "RegistryErrors", "UploadThingReply"])
})

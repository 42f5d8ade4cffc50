import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { REGISTRY_BLOB_BYTES_MAX, REGISTRY_REPOSITORIES_MAX, REGISTRY_UPLOADS_MAX } from "@svc/contract"
import { sql } from "kysely"
import { eventually } from "../../testing/eventually.ts"
import {
  basic,
  connect,
  descriptorOf,
  digestOf,
  INDEX,
  imageOf,
  MANIFEST,
  ROOT,
  registryWorld,
} from "./testing/world.ts"

test("a client of registries signs in with a key as its password, below /v2/ too, and is asked for it", async t => {
  const { p, secret } = await registryWorld(t)
  for (const root of ["/v2", ROOT]) {
    const asked = await p.request(`${root}/`)
    assert.equal(asked.status, 401)
    assert.match(asked.headers.get("www-authenticate") ?? "", /^Basic realm=/)
    const { errors } = (await asked.json()) as { errors: { code: string }[] }
    assert.equal(errors[0]?.code, "UNAUTHORIZED")
    assert.equal((await p.request(`${root}/`, { headers: basic("svc_sk_wrong") })).status, 401)
    const reply = await p.request(`${root}/`, { headers: basic(secret) })
    assert.equal(reply.status, 200)
    assert.equal(reply.headers.get("docker-distribution-api-version"), "registry/2.0")
  }
  // Everything else takes a bearer key alone.
  assert.equal((await p.request("/v1/me", { headers: basic(secret) })).status, 401)
})

test("an image is pushed, read by tag and digest as it was sent, listed page by page, and deleted", async t => {
  const world = await registryWorld(t)
  const { call, projectId, pushImage, p, secret } = world
  const layer = randomBytes(100_000)
  const digest = await pushImage("app", "v1", layer)
  for (const tag of ["v2", "v3"]) await pushImage("app", tag)
  await pushImage("team%2Fside", "latest")

  const byTag = await call("GET", "app/manifests/v1")
  const text = await byTag.text()
  assert.equal(digestOf(text), digest)
  assert.equal(byTag.headers.get("content-type"), MANIFEST)
  assert.equal(byTag.headers.get("docker-content-digest"), digest)
  const head = await call("HEAD", `app/manifests/${digest}`)
  assert.equal(head.headers.get("content-length"), String(Buffer.byteLength(text)))
  const blob = await call("GET", `app/blobs/${digestOf(layer)}`)
  assert.deepEqual(Buffer.from(await blob.arrayBuffer()), layer)
  const part = await call("GET", `app/blobs/${digestOf(layer)}`, { headers: { range: "bytes=10-19" } })
  assert.deepEqual([part.status, part.headers.get("content-range")], [206, "bytes 10-19/100000"])
  assert.deepEqual(Buffer.from(await part.arrayBuffer()), layer.subarray(10, 20))
  const beyond = await call("GET", `app/blobs/${digestOf(layer)}`, { headers: { range: "bytes=200000-" } })
  assert.equal(beyond.status, 416)

  // The next page is where the client is, below the root that it uses.
  const page = await p.request(`/v2/${projectId}/app/tags/list?n=2`, { headers: basic(secret) })
  assert.deepEqual(await page.json(), { name: `${projectId}/app`, tags: ["v1", "v2"] })
  const next = /^<(.+)>; rel="next"$/.exec(page.headers.get("link") ?? "")?.[1] ?? ""
  assert.ok(next.startsWith("/v2/"))
  const last = await p.request(next, { headers: basic(secret) })
  assert.deepEqual(((await last.json()) as { tags: string[] }).tags, ["v3"])
  assert.equal(last.headers.get("link"), null)
  const catalog = await p.request(`${ROOT}/_catalog?n=1`, { headers: basic(secret) })
  assert.deepEqual(await catalog.json(), { repositories: [`${projectId}/app`] })
  const more = /<(.+)>/.exec(catalog.headers.get("link") ?? "")?.[1] ?? ""
  const rest = await p.request(more, { headers: basic(secret) })
  assert.deepEqual(await rest.json(), { repositories: [`${projectId}/team/side`] })

  assert.deepEqual(await world.refused("DELETE", `app/blobs/${digestOf(layer)}`), [409, "DENIED"])
  assert.equal((await call("DELETE", "app/manifests/v2")).status, 202)
  assert.deepEqual(await world.refused("GET", "app/manifests/v2"), [404, "MANIFEST_UNKNOWN"])
  assert.equal((await call("DELETE", `app/manifests/${digest}`)).status, 202)
  assert.deepEqual(await world.refused("GET", "app/manifests/v1"), [404, "MANIFEST_UNKNOWN"])
  assert.equal((await call("DELETE", `app/blobs/${digestOf(layer)}`)).status, 202)
  assert.deepEqual(await world.refused("GET", `app/blobs/${digestOf(layer)}`), [404, "BLOB_UNKNOWN"])
})

test("a blob comes in chunks that must fit together, goes on after a connection broke, and must have its digest", async t => {
  const { call, refused, begin } = await registryWorld(t)
  const content = randomBytes(300_000)
  const id = await begin("app")
  const path = `app/blobs/uploads/${id}`
  const send = (from: number, to: number) =>
    call("PATCH", path, {
      body: content.subarray(from, to),
      headers: { "content-range": `${from}-${to - 1}` },
    })
  assert.equal((await send(0, 100_000)).headers.get("range"), "0-99999")
  const wrong = await send(150_000, 200_000)
  assert.deepEqual([wrong.status, wrong.headers.get("range")], [416, "0-99999"])

  const broken = new ReadableStream({
    start(controller) {
      controller.enqueue(content.subarray(100_000, 150_000))
      setTimeout(() => controller.error(new Error("gone")), 50)
    },
  })
  await assert.rejects(call("PATCH", path, { body: broken }))
  const received = await eventually("what arrived is kept", async () => {
    const range = (await call("GET", path)).headers.get("range") ?? ""
    return range === "0-99999" ? undefined : Number(range.slice(2)) + 1
  })
  assert.equal(received, 150_000)

  const last = { body: content.subarray(150_000) }
  const finished = await call("PUT", `${path}?digest=${digestOf(content)}`, last)
  assert.equal(finished.status, 201)
  const blob = await call("GET", `app/blobs/${digestOf(content)}`)
  assert.deepEqual(Buffer.from(await blob.arrayBuffer()), content)
  const across = await call("GET", `app/blobs/${digestOf(content)}`, {
    headers: { range: "bytes=99990-150009" },
  })
  assert.deepEqual(Buffer.from(await across.arrayBuffer()), content.subarray(99_990, 150_010))

  const other = await begin("app")
  const asked = `app/blobs/uploads/${other}?digest=${digestOf("something else")}`
  assert.deepEqual(await refused("PUT", asked, { body: "something" }), [400, "DIGEST_INVALID"])
  assert.deepEqual(await refused("GET", `app/blobs/uploads/${other}`), [404, "BLOB_UPLOAD_UNKNOWN"])
  const cancelled = await begin("app")
  assert.equal((await call("DELETE", `app/blobs/uploads/${cancelled}`)).status, 204)
  assert.deepEqual(await refused("PATCH", `app/blobs/uploads/${cancelled}`, { body: "x" }), [
    404,
    "BLOB_UPLOAD_UNKNOWN",
  ])
  const long = digestOf("by another algorithm", "sha512")
  const whole = await call("POST", `app/blobs/uploads/?digest=${long}`, { body: "by another algorithm" })
  assert.equal(whole.status, 201)
  assert.equal((await call("HEAD", `app/blobs/${long}`)).headers.get("content-length"), "20")
})

test("two requests to one upload do not mix, and what is larger than a blob may be is refused before it is sent", async t => {
  const { call, begin, announce, refused } = await registryWorld(t)
  const id = await begin("app")
  const path = `app/blobs/uploads/${id}`
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const slow = new ReadableStream({
    async start(controller) {
      controller.enqueue(Buffer.from("first"))
      await ended
      controller.close()
    },
  })
  const sending = call("PATCH", path, { body: slow })
  const other = { body: "x", headers: { "content-range": "900-900" } }
  await eventually("the first is under way", async () => (await call("PATCH", path, other)).status === 409)
  const finish = `${path}?digest=${digestOf("first")}`
  assert.deepEqual(await refused("PUT", finish), [409, "BLOB_UPLOAD_INVALID"])
  end()
  assert.equal((await sending).status, 202)
  const chunk = { body: "x", headers: { "content-range": "900-900" } }
  assert.deepEqual(await refused("PUT", finish, chunk), [416, "BLOB_UPLOAD_INVALID"])

  const tooMuch = REGISTRY_BLOB_BYTES_MAX + 1
  assert.equal(await announce("POST", `app/blobs/uploads/?digest=${digestOf("a")}`, tooMuch), 413)
  assert.equal(await announce("PATCH", path, tooMuch), 413)
  assert.equal(await announce("PUT", finish, tooMuch), 413)
  assert.equal((await call("PUT", finish)).status, 201)
  const large = { body: new Uint8Array(4 * 1024 ** 2 + 1) }
  assert.deepEqual(await refused("PUT", "app/manifests/large", large), [413, "SIZE_INVALID"])
})

test("a manifest must be one, and what it names must be there", async t => {
  const { refused, pushBlob, pushManifest, call } = await registryWorld(t)
  const put = (manifest: unknown, reference = "v1", type = MANIFEST) =>
    refused("PUT", `app/manifests/${reference}`, {
      body: typeof manifest === "string" ? manifest : JSON.stringify(manifest),
      headers: { "content-type": type },
    })
  const image = imageOf("{}", ["layer"])
  const invalid = [
    ...["no JSON", [], {}, { schemaVersion: 1 }, { ...image, config: undefined }, { ...image, layers: {} }],
    ...[
      { ...image, mediaType: INDEX },
      { ...image, layers: [{ ...descriptorOf("a"), digest: "sha256:12" }] },
    ],
    { ...image, annotations: { number: 1 } },
  ]
  for (const manifest of invalid)
    assert.deepEqual(await put(manifest), [400, "MANIFEST_INVALID"], JSON.stringify(manifest))
  assert.deepEqual(await put(image), [400, "MANIFEST_BLOB_UNKNOWN"])
  await pushBlob("app", "{}")
  await pushBlob("app", "layer")
  assert.deepEqual(await put(image, digestOf("another")), [400, "DIGEST_INVALID"])
  const digest = await pushManifest("app", "v1", image)

  const child = { mediaType: MANIFEST, digest, size: Buffer.byteLength(JSON.stringify(image)) }
  const index = { schemaVersion: 2, mediaType: INDEX, manifests: [child] }
  const other = { ...index, manifests: [{ ...child, digest: digestOf("nowhere") }] }
  assert.deepEqual(await put(other, "all", INDEX), [400, "MANIFEST_BLOB_UNKNOWN"])
  await pushManifest("app", "all", index, INDEX)
  assert.equal((await call("GET", "app/manifests/all")).headers.get("content-type"), INDEX)
  for (const name of ["App", "a..b", "a//b", "-a"]) {
    const [status] = await refused("PUT", `${encodeURIComponent(name)}/manifests/v1`, {
      body: JSON.stringify(image),
    })
    assert.equal(status, 400)
  }
  // What a stranger pushed is no page of ours.
  const page = { ...index, mediaType: "text/html" }
  await pushManifest("app", "page", page, "text/html")
  const shown = await call("GET", "app/manifests/page")
  assert.equal(shown.headers.get("content-security-policy"), "sandbox")
})

test("what refers to a manifest is found by its digest, by type and page by page", async t => {
  const { call, pushBlob, pushManifest, p, projectId, secret } = await registryWorld(t)
  await pushBlob("app", "{}")
  const image = imageOf("{}", [])
  const body = JSON.stringify(image)
  const subject = { mediaType: MANIFEST, digest: digestOf(body), size: body.length }
  const artifact = (artifactType: string, n: number) =>
    imageOf("{}", [], { subject, artifactType, annotations: { n: `${n}\u0000` } })
  // A signature may come before what it signs.
  const types = ["application/a", "application/b", "application/b"]
  for (const [n, type] of types.entries()) {
    const sent = JSON.stringify(artifact(type, n))
    const reply = await call("PUT", `app/manifests/${digestOf(sent)}`, {
      body: sent,
      headers: { "content-type": MANIFEST },
    })
    assert.deepEqual([reply.status, reply.headers.get("oci-subject")], [201, subject.digest])
  }
  await pushManifest("app", "v1", image)

  interface Index {
    readonly manifests: readonly {
      readonly artifactType: string
      readonly annotations: { readonly n: string }
    }[]
  }
  const path = `app/referrers/${subject.digest}`
  const all = await call("GET", path)
  assert.equal(all.headers.get("content-type"), INDEX)
  assert.equal(((await all.json()) as Index).manifests.length, 3)
  const filtered = await call("GET", `${path}?artifactType=application/b&n=1`)
  assert.equal(filtered.headers.get("oci-filters-applied"), "artifactType")
  const first = ((await filtered.json()) as Index).manifests
  const next = /<(.+)>/.exec(filtered.headers.get("link") ?? "")?.[1] ?? ""
  const second = ((await (await p.request(next, { headers: basic(secret) })).json()) as Index).manifests
  assert.deepEqual([...first, ...second].map(({ annotations }) => annotations.n).sort(), ["1\0", "2\0"])
  const none = await p.request(`${ROOT}/${projectId}/app/referrers/${digestOf("none")}`, {
    headers: basic(secret),
  })
  assert.deepEqual(((await none.json()) as Index).manifests, [])
})

test("nobody reads, mounts or writes what belongs to another project, and scopes hold", async t => {
  const world = await registryWorld(t)
  const { p, projectId, call } = world
  const layer = "a layer of acme"
  await world.pushImage("app", "v1", layer)
  const { projectId: foreignId } = await p.tenant("rival")
  const { secret } = await p.key("rival", ["registry:pull", "registry:push"])
  const intruder = connect(p, projectId, secret)
  assert.deepEqual(await intruder.refused("GET", "app/manifests/v1"), [404, "NAME_UNKNOWN"])
  assert.deepEqual(await intruder.refused("POST", "app/blobs/uploads/"), [404, "NAME_UNKNOWN"])
  const rival = connect(p, foreignId, secret)
  const mount = `mine/blobs/uploads/?mount=${digestOf(layer)}&from=`
  const foreign = await rival.call("POST", `${mount}${encodeURIComponent(`${projectId}/app`)}`)
  assert.equal(foreign.status, 202)
  assert.deepEqual(await rival.refused("GET", `mine/blobs/${digestOf(layer)}`), [404, "BLOB_UNKNOWN"])
  assert.equal((await call("POST", `${mount}${encodeURIComponent(`${projectId}/app`)}`)).status, 201)
  assert.equal(await (await call("GET", `mine/blobs/${digestOf(layer)}`)).text(), layer)
  // A blob is read through repositories that have it.
  assert.deepEqual(await world.refused("GET", `other/blobs/${digestOf(layer)}`), [404, "BLOB_UNKNOWN"])

  const wide = await p.key("acme", ["registry:pull"], { project_id: null })
  const reader = connect(p, projectId, wide.secret)
  assert.equal((await reader.call("GET", "app/manifests/v1")).status, 200)
  assert.deepEqual(await reader.refused("POST", "app/blobs/uploads/"), [403, "DENIED"])
  const elsewhere = connect(p, foreignId, wide.secret)
  assert.deepEqual(await elsewhere.refused("GET", "app/manifests/v1"), [404, "NAME_UNKNOWN"])
})

test("a project has so many uploads under way and so many repositories", async t => {
  const { p, projectId, refused, begin } = await registryWorld(t)
  await begin("app")
  const { db } = p.database
  await sql`INSERT INTO registry.uploads (project_id, id, repository_id, received_bytes, touched_at)
    SELECT project_id, gen_random_uuid(), id, 0, now() FROM registry.repositories,
      generate_series(2, ${REGISTRY_UPLOADS_MAX}::int) WHERE project_id = ${projectId}`.execute(db)
  assert.deepEqual(await refused("POST", "app/blobs/uploads/"), [402, "DENIED"])
  await sql`INSERT INTO registry.repositories (organization_id, project_id, id, name, created_at)
    SELECT organization_id, project_id, gen_random_uuid(), 'r' || number, now() FROM registry.repositories,
      generate_series(2, ${REGISTRY_REPOSITORIES_MAX}::int) AS number WHERE project_id = ${projectId}`.execute(
    db,
  )
  const body = JSON.stringify({ schemaVersion: 2, manifests: [] })
  assert.deepEqual(await refused("PUT", "one-more/manifests/v1", { body }), [402, "DENIED"])
})

test("every operation refuses a name that no repository can have", async t => {
  const { call } = await registryWorld(t)
  const digest = digestOf("")
  const upload = "blobs/uploads/01980d5e-7c3a-7b61-9c55-0a4f3e8b2d10"
  const asked = [
    ...[`GET blobs/${digest}`, `HEAD blobs/${digest}`, `DELETE blobs/${digest}`, "POST blobs/uploads/"],
    ...[`GET ${upload}`, `PATCH ${upload}`, `PUT ${upload}?digest=${digest}`, `DELETE ${upload}`],
    ...["GET manifests/v1", "HEAD manifests/v1", "PUT manifests/v1", "DELETE manifests/v1"],
    ...["GET tags/list", `GET referrers/${digest}`],
  ]
  for (const each of asked) {
    const [method = "", path = ""] = each.split(" ")
    const { status, headers } = await call(method, `Bad..Name/${path}`)
    assert.deepEqual([status, headers.get("x-error-code")], [400, "repository_name_invalid"], each)
  }
})

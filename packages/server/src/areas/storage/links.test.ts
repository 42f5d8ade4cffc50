import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"
import { plans } from "@svc/contract"
import { createSvc } from "@svc/sdk"
import { refused } from "../../core/accounts/testing/people.ts"
import { watchedFetch } from "../../testing/watch.ts"
import { storageWorld } from "./testing/world.ts"

const SECOND_MS = 1000

const signedWorld = async (...[t, options]: Parameters<typeof storageWorld>) => {
  const world = await storageWorld(t, options)
  const { p, svc, bucket } = world
  /** A request without a credential, as a browser would send it. */
  const open = async (url: string, init?: RequestInit) => {
    const response = await p.request(url.slice(new URL(url).origin.length), init)
    const isJson = response.headers.get("content-type")?.startsWith("application/json")
    const text = await response.text()
    return {
      status: response.status,
      text,
      code: isJson ? JSON.parse(text).code : undefined,
      headers: response.headers,
    }
  }
  const presign = async (input: Omit<Parameters<typeof svc.storage.presign>[0] & object, "bucket">) =>
    await svc.storage.presign({ bucket, ...input })
  return { ...world, open, presign }
}

test("a signed URL reads its object without a key until it expires", async t => {
  const { p, put, open, presign } = await signedWorld(t)
  await put("a b/ü%.txt", "the text")
  const { url, method, expires_at } = await presign({
    key: "a b/ü%.txt",
    expires_in: 60,
    response_content_disposition: 'attachment; filename="x.txt"',
    response_content_type: "text/plain",
  })
  assert.equal(method, "GET")
  assert.equal(Math.floor((Date.parse(expires_at) - p.clock.now()) / SECOND_MS), 60)

  const reply = await open(url)
  assert.deepEqual([reply.status, reply.text], [200, "the text"])
  assert.equal(reply.headers.get("content-disposition"), 'attachment; filename="x.txt"')
  assert.equal(reply.headers.get("content-type"), "text/plain")
  assert.equal(reply.headers.get("access-control-allow-origin"), "*")
  assert.equal((await open(url, { method: "HEAD" })).status, 200)
  assert.deepEqual((await open(url, { headers: { range: "bytes=4-" } })).text, "text")
  assert.equal((await open(url, { method: "PUT", body: "x" })).code, "signed_url_invalid")

  await p.clock.advance(62 * SECOND_MS)
  const expired = await open(url)
  assert.deepEqual([expired.status, expired.code], [403, "signed_url_invalid"])
})

test("a signed URL that was changed anywhere, or is for another object, opens nothing", async t => {
  const { p, svc, put, open, presign, bucket } = await signedWorld(t)
  await put("a", "1")
  await put("b", "2")
  const { url } = await presign({ key: "a" })
  const [head = "", tail = ""] = url.split("/signed/")
  const [token = "", key] = tail.split("/")
  const attempt = async (changed: string, of = key) => (await open(`${head}/signed/${changed}/${of}`)).code

  assert.equal(await attempt(token), undefined)
  assert.equal(await attempt(token, "b"), "signed_url_invalid")
  const { pathname } = new URL(`${head}/signed/${token}/b`)
  assert.equal((await p.request(pathname, { method: "HEAD" })).status, 403)
  for (let at = 0; at < token.length; at += 1) {
    const other = token[at] === "A" ? "B" : "A"
    assert.equal(
      await attempt(token.slice(0, at) + other + token.slice(at + 1)),
      "signed_url_invalid",
      `at ${at}`,
    )
  }
  for (const text of ["x", "..", `${token}x`, token.slice(1), token.slice(0, -1), `${token}.x`])
    assert.ok(["signed_url_invalid", undefined, "route_not_found"].includes(await attempt(text)))

  // Signed by another tenant, with the words of this one.
  const stranger = await p.client("globex", "storage:read", "storage:write")
  await stranger.storage.createBucket({ name: bucket })
  const foreign = (await stranger.storage.presign({ bucket, key: "a" })).url.split("/signed/")[1] ?? ""
  const [keyId] = foreign.split(".")
  const [, payload, mac] = token.split(".")
  assert.equal(await attempt(`${keyId}.${payload}.${mac}`), "signed_url_invalid")
  assert.equal((await open(`${head}/signed/${foreign}`)).code, "object_not_found")
  await refused(stranger.storage.presign({ bucket: "not-mine", key: "a" }), "bucket_not_found")
  assert.ok(svc)
})

test("a signed upload takes what was agreed on and nothing else", async t => {
  const { text, open, presign } = await signedWorld(t)
  const put = async (url: string, body: string, headers: Record<string, string> = {}) => {
    const { status, code } = await open(url, { method: "PUT", body, headers })
    return status === 200 ? 200 : code
  }
  const sha256 = createHash("sha256").update("exactly").digest("base64")

  const typed = (await presign({ key: "a", method: "PUT", content_type: "text/plain" })).url
  assert.equal(await put(typed, "x", { "content-type": "text/html" }), "signed_url_invalid")
  assert.equal(await put(typed, "x", { "content-type": "text/plain" }), 200)

  const sized = (await presign({ key: "b", method: "PUT", content_length: 4 })).url
  assert.equal(await put(sized, "12345"), "signed_url_invalid")
  assert.equal(await put(sized, "1234"), 200)

  const bounded = (await presign({ key: "c", method: "PUT", max_size: 4 })).url
  assert.equal(await put(bounded, "12345"), "signed_url_invalid")
  assert.equal(await put(bounded, "123"), 200)

  const summed = (await presign({ key: "d", method: "PUT", checksum_sha256: sha256 })).url
  assert.equal(await put(summed, "another"), "checksum_mismatch")
  assert.equal(await put(summed, "exactly"), 200)

  const once = (await presign({ key: "e", method: "PUT", overwrite: false })).url
  assert.equal(await put(once, "first"), 200)
  assert.equal(await put(once, "second"), "precondition_failed")
  assert.equal(await text("e"), "first")
  await refused(presign({ key: "f", method: "GET", max_size: 4 }), "invalid_parameter")
})

test("a body of unknown length does not slip past a signed limit", async t => {
  const { svc, bucket, open, presign } = await signedWorld(t)
  const { url } = await presign({ key: "a", method: "PUT", max_size: 4 })
  const body = new Blob(["more than four"]).stream()
  const reply = await open(url, { method: "PUT", body, duplex: "half" } as RequestInit)
  assert.equal(reply.code, "signed_url_invalid")
  assert.deepEqual((await svc.storage.listObjects({ bucket })).data, [])
})

test("a URL ends with the key that made it, and gives no more than that key has", async t => {
  const { p, bucket, put, open } = await signedWorld(t)
  await put("a", "1")
  const maker = await p.key("acme", ["storage:read"])
  const svc = p.as(maker.secret)
  const { url } = await svc.storage.presign({ bucket, key: "a" })
  assert.equal((await open(url)).status, 200)
  await refused(svc.storage.presign({ bucket, key: "a", method: "PUT" }), "missing_scope")
  const reader = await p.key("acme", ["storage:read", "storage:write"], { read_only: true })
  await refused(p.as(reader.secret).storage.presign({ bucket, key: "a", method: "PUT" }), "key_read_only")

  await (await p.person("acme")).keys.revoke({ id: maker.id })
  assert.equal((await open(url)).code, "signed_url_invalid")
})

test("a URL that a signed-in person made ends with the membership, and gives no more than the person may do", async t => {
  const { p, bucket, put, open } = await signedWorld(t)
  await put("a", "1")
  const { organizationId: org_id, projectId } = await p.tenant("acme")
  const owner = await p.person("acme")
  const headers = { ...(await p.session("acme", "member")), "x-svc-project": projectId }
  const member = createSvc({ baseUrl: p.url, fetch: watchedFetch, retries: 0, headers })
  const { id: user_id } = await member.account.get()
  const { url } = await member.storage.presign({ bucket, key: "a" })
  const upload = await member.storage.presign({ bucket, key: "b", method: "PUT" })
  const send = () => open(upload.url, { method: "PUT", body: "2" })
  assert.deepEqual([(await open(url)).status, (await send()).status], [200, 200])

  await owner.organizations.updateMember({ org_id, user_id, role: "viewer" })
  assert.deepEqual([(await open(url)).status, (await send()).code], [200, "signed_url_invalid"])
  const other = await owner.projects.create({ name: "other" })
  await owner.organizations.updateMember({ org_id, user_id, project_ids: [other.id] })
  assert.equal((await open(url)).code, "signed_url_invalid")
  await owner.organizations.updateMember({ org_id, user_id, project_ids: null })
  assert.equal((await open(url)).status, 200)
  await owner.organizations.removeMember({ org_id, user_id })
  assert.equal((await open(url)).code, "signed_url_invalid")
})

test("anybody reads a public bucket, and a private one is like none at all", async t => {
  const { p, svc, bucket, put } = await signedWorld(t)
  const { projectId } = await p.tenant("acme")
  await put("a/b.txt", "public text", { "content-type": "text/plain" })
  const get = async (name: string, key = "a/b.txt", method = "GET") => {
    const response = await p.request(`/v1/storage/public/${projectId}/${name}/${key}`, { method })
    const text = await response.text()
    const { code, error } = response.ok || method === "HEAD" ? { code: text, error: "" } : JSON.parse(text)
    return { status: response.status, code, error, cache: response.headers.get("cache-control") }
  }
  const absent = await get("no-such-bucket")
  assert.deepEqual(await get(bucket), absent)
  assert.equal(absent.code, "object_not_found")

  await svc.storage.updateBucket({ name: bucket, public: true })
  const found = await get(bucket)
  assert.deepEqual([found.status, found.code, found.cache], [200, "public text", "public, max-age=60"])
  assert.equal((await get(bucket, "a/b.txt", "HEAD")).status, 200)
  assert.equal((await get(bucket, "missing")).code, "object_not_found")
  await svc.storage.updateBucket({ name: bucket, public: false })
  assert.deepEqual(await get(bucket), absent)
  assert.equal((await get(bucket, "a/b.txt", "HEAD")).status, 404)

  await svc.storage.updateBucket({ name: bucket, public: true })
  await (await p.person("acme")).projects.delete({ id: projectId })
  assert.equal((await get(bucket)).code, "object_not_found")
})

test("requests with a signed URL count against the limit of its organization, and bad ones against their address's", async t => {
  const { p, put, presign, open } = await signedWorld(t, { env: { SVC_RATE_LIMIT: "plan" } })
  await put("a", "the text")
  const { url } = await presign({ key: "a", expires_in: 60 })
  const { requests_per_second: limit } = plans.enterprise
  await p.clock.advance(10 * SECOND_MS)
  const answers = await Promise.all(Array.from({ length: limit + 5 }, () => open(url)))
  assert.equal(answers.filter(({ status }) => status === 200).length, limit)
  const refusedOnes = answers.filter(({ status }) => status === 429)
  assert.deepEqual(
    refusedOnes.map(({ code, headers }) => [code, headers.get("x-ratelimit-limit")]),
    Array.from({ length: 5 }, () => ["rate_limited", String(limit)]),
  )

  const forged = url.replace(/\/a$/, "/b")
  assert.equal((await open(forged)).code, "signed_url_invalid")
  const guesses = await Promise.all(Array.from({ length: 100 }, () => open(forged)))
  assert.ok(guesses.some(({ code }) => code === "rate_limited"))
  assert.ok(guesses.every(({ headers }) => headers.get("x-ratelimit-limit") !== String(limit)))
})

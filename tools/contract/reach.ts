/** Inputs that reach a success where the samples of the derived tests do not: those that need another caller, or a link. */
import { randomBytes, randomUUID } from "node:crypto"
import { allOperations } from "@svc/contract"
import type { OperationName, Svc } from "@svc/sdk"
import { startAtGithub } from "../../packages/server/src/areas/auth/testing/samples.ts"
import { newPayment } from "../../packages/server/src/areas/billing/testing/samples.ts"
import {
  newAuthorization,
  newCodeForm,
  newConsent,
} from "../../packages/server/src/areas/oauth/testing/samples.ts"
import { createPasswords } from "../../packages/server/src/core/accounts/passwords.ts"
import { resetStore } from "../../packages/server/src/core/accounts/reset-store.ts"
import { signupStore } from "../../packages/server/src/core/accounts/signup-store.ts"
import { newToken, tokenHash } from "../../packages/server/src/core/accounts/token.ts"
import { newId } from "../../packages/server/src/kernel/id.ts"
import { eventually } from "../../packages/server/src/testing/eventually.ts"
import { PASSWORD, uniqueName } from "../../packages/server/src/testing/platform.ts"
import type { Sample, SampleWorld } from "../../packages/server/src/testing/sample-world.ts"
import { samples } from "../../packages/server/src/testing/samples.ts"

export interface ReachWorld extends SampleWorld {
  /** Of a key that must ask for approval. */
  readonly askerSecret: string
  /** The id of `key`. */
  readonly keyId: string
  /** A signed-in user of the tenant's application. */
  readonly endUser: Svc
}

const SIGNUP_LASTS_MS = 3_600_000

type ReachSample = (world: ReachWorld) => ReturnType<Sample>

const newObject = async ({ key }: SampleWorld, options: { public?: boolean } = {}) => {
  const bucket = uniqueName()
  await key.storage.createBucket({ name: bucket, ...options })
  await key.storage.putObject({ bucket, key: "hello" }, { body: "hello" })
  return { bucket, key: "hello" }
}

const signedFor = (method: "GET" | "PUT") => async (world: SampleWorld) => {
  const object = await newObject(world)
  const { url } = await world.key.storage.presign({ ...object, method, expires_in: 3600 })
  const [token = "", key = ""] = new URL(url).pathname.split("/").slice(-2)
  return { token, key }
}

const publicObject = async (world: SampleWorld) => {
  const object = await newObject(world, { public: true })
  return { project_id: (await world.platform.tenant(world.tenant)).projectId, ...object }
}

const CODE = "export const handler = async event => ({ event })"

const newFunction = (options: { public?: true }) => async (world: SampleWorld) => {
  const made = await world.key.functions.create({
    name: uniqueName(),
    runtime: "nodejs",
    code: CODE,
    ...options,
  })
  return { id: made.id, path: "hello" }
}
const keyedFunction = newFunction({})
const publicFunction = newFunction({ public: true })

const base64 = (text: string): string => Buffer.from(text).toString("base64")

/** The headers with which tus begins an upload. */
const tusHeaders = async (world: SampleWorld) => {
  const { bucket } = await newObject(world)
  return {
    "Tus-Resumable": "1.0.0",
    "Upload-Length": "1000000",
    "Upload-Metadata": `bucket ${base64(bucket)},key ${base64("film")}`,
  }
}

const newUpload = async (world: ReachWorld) => {
  const { secret } = await world.platform.key(world.tenant, ["storage:read", "storage:write"])
  const headers = { ...(await tusHeaders(world)), authorization: `Bearer ${secret}` }
  const { headers: answered } = await world.platform.request("/v1/storage/uploads", {
    method: "POST",
    headers,
  })
  return { upload_id: answered.get("location")?.split("/").at(-1), "Tus-Resumable": "1.0.0" }
}

const newMultipartUpload = async (world: SampleWorld) => {
  const { bucket } = await newObject(world)
  await world.key.storage.createMultipart({ bucket, key: "film" })
  return { bucket }
}

const newLogin = async ({ key }: SampleWorld) => {
  const { connection_uri } = await key.databases.create({ name: uniqueName(), pg_version: 17 })
  return { "Neon-Connection-String": connection_uri, query: "SELECT 1" }
}

/** A key has an inbox of its own, by its id. */
const ownInbox = async ({ keyId }: ReachWorld) => ({ user_id: keyId })

const newTicket = async ({ key }: SampleWorld) => ({
  id: (await key.support.createTicket({ subject: "Help", description: "It does not work." })).id,
})
const newChat = async ({ key }: SampleWorld) => ({
  id: (await key.support.createChat({ message: "Hello?" })).id,
})

const newVectors = async ({ platform, tenant, key }: SampleWorld) => {
  const at = { tenant_id: (await platform.tenant(tenant)).organizationId, collection: uniqueName() }
  await key.vectors.createCollection({ tenant_id: at.tenant_id, name: at.collection, dimension: 2 })
  await key.vectors.upsert({ ...at, vectors: [{ id: "a", values: [1, 2] }] })
  return at
}

/** A request that waits for its approval, made by the key that may cancel it. */
const ownApproval = async ({ platform, askerSecret }: ReachWorld) => {
  const response = await platform.request("/v1/probe/danger", {
    method: "POST",
    headers: { authorization: `Bearer ${askerSecret}`, "content-type": "application/json" },
    body: JSON.stringify({ text: randomUUID() }),
  })
  const { data } = (await response.json()) as { data: { approval: { id: string } } }
  return { id: data.approval.id }
}

/** A mail whose links are followed, and the token in the link of that kind. */
const mailToken =
  (kind: "click" | "open" | "unsubscribe") =>
  async ({ key }: SampleWorld) => {
    const name = uniqueName()
    const html = `<p><a href="https://example.com/">x</a></p>`
    await key.email.createTemplate({ name, subject: "Hi", html, bulk: true })
    const to = `${name}@example.org`
    const { id } = await key.email.sendTransactional({
      ...{ template: name, data: {}, to, track_opens: true, track_clicks: true },
    })
    const found = await eventually("it comes about", async () => {
      const { data } = await key.email.listInbox({})
      return data.find(({ email_id }) => email_id === id)
    })
    const mail = JSON.stringify(await key.email.getInbox({ id: found.id }))
    return { token: new RegExp(`/v1/email/${kind}/([\\w-]+)`).exec(mail)?.[1] ?? "" }
  }

const newInvitation = async ({ platform, person }: SampleWorld) => {
  const { email } = await person.account.get()
  const { organizationId: org_id } = await platform.tenant("globex")
  const { token } = await (await platform.person("globex")).organizations.invite({
    org_id,
    email,
    role: "member",
  })
  return { token }
}

const newTable = async ({ key }: SampleWorld) => {
  await key.sql.execute({ sql: "CREATE TABLE customers (id integer PRIMARY KEY, name text)" })
  return { question: "how many customers are there" }
}

const login = async ({ platform }: SampleWorld) => {
  const member = await platform.person("globex", "member")
  return { email: (await member.account.get()).email, password: PASSWORD }
}

/** A sign-up that waits for its confirmation. This server sends no mail, so the token is put where a mail's would be. */
const newSignup = async ({ platform }: SampleWorld) => {
  const token = newToken("svc_verify_")
  const name = uniqueName()
  const now = new Date()
  await signupStore(platform.database.db).insert({
    id: newId(now.getTime()),
    account: randomBytes(32),
    source: "",
    email: `${name}@example.org`,
    name,
    organization_name: name,
    password_hash: await createPasswords(1).hash(PASSWORD),
    token_hash: tokenHash(token),
    invitation_hash: null,
    attempts: 0,
    created_at: now,
    expires_at: new Date(now.getTime() + SIGNUP_LASTS_MS),
  })
  return { token, password: PASSWORD }
}

/** A reset of the password of an account of its own, whose token is put where that of a mail would be. */
const newReset = async ({ platform }: SampleWorld) => {
  const token = newToken("svc_reset_")
  const email = `${uniqueName()}@example.org`
  await platform.as("").account.signup({ email, password: PASSWORD })
  const now = new Date()
  await resetStore(platform.database.db).insert({
    id: newId(now.getTime()),
    account: randomBytes(32),
    source: "",
    email,
    token_hash: tokenHash(token),
    is_open: true,
    created_at: now,
    expires_at: new Date(now.getTime() + SIGNUP_LASTS_MS),
  })
  return { token, password: PASSWORD }
}

const ofProject = async ({ platform, tenant }: SampleWorld) => ({
  project_id: (await platform.tenant(tenant)).projectId,
})

const named: { readonly [Name in OperationName]?: ReachSample } = {
  "account.confirmPasswordReset": newReset,
  "account.login": login,
  "account.verifyEmail": newSignup,
  "advice.naturalLanguageToSql": newTable,
  "advice.scaling": async ({ key }) => ({
    database_id: (await key.databases.create({ name: uniqueName(), pg_version: 17 })).id,
  }),
  "aiText.autocomplete": async () => ({ text: "I look forward to the con", model: "svc-autocomplete-ngram" }),
  "approvals.get": ownApproval,
  "approvals.cancel": ownApproval,
  "auth.deleteFactor": async ({ endUser }) => ({
    id: (await endUser.auth.enroll({ friendly_name: uniqueName() })).factor_id,
  }),
  "auth.revokeSession": async ({ endUser, key }) => {
    await key.auth.login({ email: (await endUser.auth.getUser()).email ?? "", password: PASSWORD })
    const { sessions } = await endUser.auth.listSessions()
    return { id: sessions.find(({ current }) => !current)?.id ?? "" }
  },
  "auth.startLink": startAtGithub,
  "auth.enroll": async () => ({ friendly_name: uniqueName() }),
  "auth.jwks": ofProject,
  "auth.discovery": ofProject,
  "computers.getOrCreate": async () => ({ name: uniqueName(), memory_mb: 128, vcpus: 0.25, disk_gb: 1 }),
  "email.trackClick": mailToken("click"),
  "email.trackOpen": mailToken("open"),
  "email.unsubscribe": mailToken("unsubscribe"),
  "email.unsubscribePage": mailToken("unsubscribe"),
  "encryption.decrypt": async ({ key }) => {
    const made = await key.encryption.encrypt({ plaintext: "hello" })
    return { ciphertext: "ciphertext" in made ? made.ciphertext : "" }
  },
  "functions.httpPost": keyedFunction,
  "functions.httpPut": keyedFunction,
  "functions.httpPatch": keyedFunction,
  "functions.httpDelete": keyedFunction,
  "functions.publicGet": publicFunction,
  "functions.publicPost": publicFunction,
  "functions.publicPut": publicFunction,
  "functions.publicPatch": publicFunction,
  "functions.publicDelete": publicFunction,
  "notifications.getPreferences": ownInbox,
  "notifications.unreadCount": ownInbox,
  "oauth.getAuthorization": newAuthorization,
  "oauth.consent": newConsent,
  "oauth.token": newCodeForm,
  "organizations.acceptInvitation": newInvitation,
  "organizations.delete": async ({ person }) => ({
    org_id: (await person.organizations.create({ name: uniqueName() })).id,
  }),
  "billing.confirmPayment": async world => ({ id: (await newPayment(world)).id }),
  "billing.grantCredit": async ({ platform, tenant }) => ({
    organization_id: (await platform.tenant(tenant)).organizationId,
    amount_micros: 1_000_000,
  }),
  "organizations.setPlan": async ({ platform, tenant }) => ({
    org_id: (await platform.tenant(tenant)).organizationId,
    plan: "enterprise",
  }),
  "projects.get": async ({ platform, tenant }) => ({ id: (await platform.tenant(tenant)).projectId }),
  "research.status": async ({ key }) => {
    const { id } = await key.research.deep({ query: "What is here?", breadth: 1, depth: 1, wait_seconds: 0 })
    return { id }
  },
  "sandboxes.streamCommand": async ({ key }) => ({
    id: (await key.sandboxes.create({ memory_mb: 256, vcpus: 0.5 })).id,
    command: "true",
  }),
  "sql.neonQuery": newLogin,
  "storage.listMultipart": newMultipartUpload,
  "storage.presign": async world => ({ ...(await newObject(world)), method: "GET", expires_in: 600 }),
  "storage.getSigned": signedFor("GET"),
  "storage.headSigned": signedFor("GET"),
  "storage.putSigned": signedFor("PUT"),
  "storage.getPublic": publicObject,
  "storage.headPublic": publicObject,
  "storage.createUpload": tusHeaders,
  "storage.headUpload": newUpload,
  "storage.patchUpload": async world => ({ ...(await newUpload(world)), "Upload-Offset": "0" }),
  "storage.deleteUpload": newUpload,
  "support.agentGetTicket": newTicket,
  "support.agentUpdateTicket": async world => ({ ...(await newTicket(world)), status: "on_hold" }),
  "support.agentListComments": newTicket,
  "support.agentAddComment": async world => ({ ...(await newTicket(world)), body: "Still?" }),
  "support.agentUpdateChat": async world => ({ ...(await newChat(world)), status: "snoozed" }),
  "support.agentReadChat": newChat,
  "support.agentListMessages": newChat,
  "support.agentPostMessage": async world => ({ ...(await newChat(world)), content: "Here." }),
  "vectors.search": async world => ({ ...(await newVectors(world)), vector: [1, 2], top_k: 1 }),
  "vectors.count": newVectors,
  "vectors.get": async world => ({ ...(await newVectors(world)), ids: ["a"] }),
}

/** What only lists names its organization and nothing else. */
const ofOrganization: ReachSample = async ({ platform, tenant }) => ({
  tenant_id: (await platform.tenant(tenant)).organizationId,
})

/** Undefined for an operation that needs none, or has one among the derived tests' samples. */
export const reachSample = (name: OperationName): ReachSample | undefined =>
  named[name] ??
  samples[name] ??
  (allOperations.find(operation => operation.name === name)?.params?.properties.tenant_id
    ? ofOrganization
    : undefined)

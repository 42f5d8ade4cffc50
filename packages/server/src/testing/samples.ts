/** One valid input for every operation that changes state, and for every one that names a thing by id. */
import { randomUUID } from "node:crypto"
import type { OperationName } from "@svc/sdk"
import { emailDeliverySamples } from "../areas/email/testing/delivery-samples.ts"
import { emailSendingSamples } from "../areas/email/testing/sending-samples.ts"
import { functionSamples } from "../areas/functions/testing/samples.ts"
import { githubPush } from "../areas/integrations/testing/hooks.ts"
import { storageSamples } from "../areas/storage/testing/samples.ts"
import { PASSWORD, type TestPlatform, uniqueName } from "./platform.ts"
import type { Sample, SampleWorld } from "./sample-world.ts"
import { workloadSamples } from "./workload-samples.ts"

const newKey = async ({ person }: SampleWorld) =>
  (await person.keys.create({ name: uniqueName(), type: "secret", scopes: ["kv:read", "kv:write"] })).id

const newProject = async ({ person }: SampleWorld) =>
  (await person.projects.create({ name: uniqueName() })).id

const organizationId = async ({ platform, tenant }: SampleWorld) =>
  (await platform.tenant(tenant)).organizationId

/** A member beside the owner. */
const newMember = async (world: SampleWorld) => {
  const { account } = await world.platform.person(world.tenant, "member")
  return { org_id: await organizationId(world), user_id: (await account.get()).id }
}

const newInvitation = async (world: SampleWorld) => {
  const org_id = await organizationId(world)
  const { id } = await world.person.organizations.invite({
    org_id,
    email: `${randomUUID()}@example.com`,
    role: "member",
  })
  return { org_id, id }
}

/** A high-risk request that waits for its approval. */
const newApproval = async ({ platform, tenant }: SampleWorld) => platform.pendingApproval(tenant)

/** One of a kind serves all worlds of a tenant; it is made anew where making it failed. */
const shared = <Thing>(make: (world: SampleWorld) => Promise<Thing>) => {
  const made = new WeakMap<TestPlatform, Map<string, Promise<Thing>>>()
  return (world: SampleWorld): Promise<Thing> => {
    const ofPlatform = made.get(world.platform) ?? new Map<string, Promise<Thing>>()
    made.set(world.platform, ofPlatform)
    const known = ofPlatform.get(world.tenant) ?? make(world)
    ofPlatform.set(world.tenant, known)
    known.catch(() => ofPlatform.delete(world.tenant))
    return known
  }
}

const newDatabase = async ({ key }: SampleWorld) =>
  (await key.databases.create({ name: uniqueName(), pg_version: 17 })).id

/** For all that only look at it or change its settings. */
const sharedDatabase = shared(newDatabase)

const newBranch = async (world: SampleWorld) => {
  const id = await sharedDatabase(world)
  const { id: branch_id } = await world.key.databases.createBranch({ id })
  return { id, branch_id }
}

const deletedDatabase = async (world: SampleWorld) => {
  const id = await newDatabase(world)
  await world.key.databases.delete({ id })
  return { id }
}

/** A table in the project's default database. */
const newTable = async ({ key }: SampleWorld) => {
  const name = uniqueName()
  await key.sql.execute({ sql: `CREATE TABLE "${name}" (id integer PRIMARY KEY)` })
  return { name }
}

const newCollection = async (world: SampleWorld) => {
  const tenant_id = await organizationId(world)
  const name = uniqueName()
  await world.key.vectors.createCollection({ tenant_id, name, dimension: 2 })
  return { tenant_id, name }
}

/** Vectors to write to a collection of their own. */
const newVectors = async (world: SampleWorld) => {
  const { tenant_id, name: collection } = await newCollection(world)
  return { tenant_id, collection, vectors: [{ id: "a", values: [1, 2], metadata: { color: "red" } }] }
}

const newTopic = async ({ key }: SampleWorld) => ({
  topic_id: (await key.events.createTopic({ name: uniqueName() })).id,
})

/** Its endpoint does not answer. */
const newSubscription = async (world: SampleWorld) => {
  const { topic_id } = await newTopic(world)
  const config = { url: "https://nowhere.invalid/" }
  const { id } = await world.key.events.createSubscription({ topic_id, sub_type: "webhook", config })
  return { sub_id: id }
}

const newDelivery = async (world: SampleWorld) => {
  const { sub_id } = await newSubscription(world)
  const { delivery } = await world.key.events.testSubscription({ sub_id })
  return { sub_id, delivery_id: delivery.id }
}

const newSearchSource = async ({ key }: SampleWorld) =>
  (await key.search.upsertSource({ name: uniqueName(), type: "inline" })).id

/** A source of addresses none of which answers. */
const newUrlSource = async ({ key }: SampleWorld) => {
  const config = { urls: ["https://nowhere.invalid/"] }
  return (await key.search.upsertSource({ name: uniqueName(), type: "url", config })).id
}

/** Its endpoint does not answer. */
const newWebhook = async (world: SampleWorld) => {
  const tenant_id = await organizationId(world)
  const url = "https://nowhere.invalid/"
  const { id } = await world.key.webhooks.register({ tenant_id, url, event_types: ["billing.*"] })
  return { tenant_id, id }
}

/** For all that neither change nor remove it. */
const sharedWebhook = shared(newWebhook)

const newWebhookDelivery = async (world: SampleWorld) => {
  const webhook = await sharedWebhook(world)
  const { delivery } = await world.key.webhooks.test(webhook)
  return { ...webhook, delivery_id: delivery.id }
}

const newNotification = async ({ key }: SampleWorld) => ({
  id: (await key.notifications.send({ title: "Hello" })).id,
})

const newSchedule = async ({ key }: SampleWorld) => {
  const target = { type: "http", url: "https://nowhere.invalid/" } as const
  return (await key.cron.create({ name: uniqueName(), interval_seconds: 3600, target })).id
}

/** One that waits for its next attempt: nobody answers at the schedule's target. */
const newExecution = async (world: SampleWorld) => {
  const id = await newSchedule(world)
  return { id, execution_id: (await world.key.cron.trigger({ id })).id }
}

const newTicket = async ({ key }: SampleWorld) => {
  const { id } = await key.support.createTicket({ subject: "Help", description: "It does not work." })
  return { id }
}

const newChat = async ({ key }: SampleWorld) => ({
  id: (await key.support.createChat({ message: "Hello?" })).id,
})

const newIntegration = async ({ key }: SampleWorld) =>
  (await key.integrations.create({ provider: "github", repository: `acme/${uniqueName()}` })).id

/** An event that GitHub told. */
const newGitEvent = async ({ platform, key }: SampleWorld) => {
  const repository = `acme/${uniqueName()}`
  const { id, webhook_secret = "" } = await key.integrations.create({ provider: "github", repository })
  const { headers, body } = githubPush(webhook_secret, { repository })
  const response = await platform.request(`/hooks/vcs/${id}`, { method: "POST", headers, body })
  const { data } = (await response.json()) as { data: { event_id: string } }
  return { id, event_id: data.event_id }
}

export const samples: { readonly [Name in OperationName]?: Sample } = {
  ...storageSamples,
  ...workloadSamples,
  ...emailSendingSamples,
  ...emailDeliverySamples,
  ...functionSamples,
  "databases.create": async () => ({ name: uniqueName(), pg_version: 17 }),
  "databases.provision": async () => ({}),
  "databases.certificateAuthority": async () => ({}),
  "databases.get": async world => ({ id: await sharedDatabase(world) }),
  "databases.update": async world => ({ id: await sharedDatabase(world), suspend_timeout_seconds: 600 }),
  "databases.delete": async world => ({ id: await newDatabase(world) }),
  "databases.restore": deletedDatabase,
  "databases.wake": async world => ({ id: await sharedDatabase(world) }),
  "databases.suspend": async world => ({ id: await sharedDatabase(world) }),
  "databases.resetPassword": async world => ({ id: await sharedDatabase(world) }),
  "databases.recoveryWindow": async world => ({ id: await sharedDatabase(world) }),
  "databases.pitr": async world => {
    const id = await sharedDatabase(world)
    return { id, target_time: new Date().toISOString(), name: uniqueName() }
  },
  "databases.listBranches": async world => ({ id: await sharedDatabase(world) }),
  "databases.createBranch": async world => ({ id: await sharedDatabase(world), name: uniqueName() }),
  "databases.getBranch": newBranch,
  "databases.updateBranch": async world => ({ ...(await newBranch(world)), protected: true }),
  "databases.deleteBranch": newBranch,
  "databases.restoreBranch": async world => {
    const branch = await newBranch(world)
    const { default_branch_id } = await world.key.databases.get({ id: branch.id })
    return { ...branch, source_branch_id: default_branch_id }
  },
  "databases.resetBranch": newBranch,
  "schema.table": newTable,
  "encryption.encrypt": async () => ({ plaintext: "hello" }),
  "encryption.rewrap": async ({ key }) => {
    const made = await key.encryption.encrypt({ plaintext: "hello" })
    return { ciphertext: "ciphertext" in made ? made.ciphertext : "" }
  },
  "encryption.rotateKey": async () => ({}),
  "encryption.updateKey": async ({ key }) => {
    await key.encryption.encrypt({ plaintext: "for the first key" })
    return { min_decryption_version: 1 }
  },
  "kv.set": async () => ({ key: uniqueName(), value: { text: "hello" } }),
  "kv.del": async () => ({ key: uniqueName() }),
  "kv.batch": async () => ({ ops: [{ op: "set", key: uniqueName(), value: 1 }] }),
  "cron.create": async () => ({
    name: uniqueName(),
    cron: "0 3 * * *",
    target: { type: "http", url: "https://example.com/" },
  }),
  "cron.get": async world => ({ id: await newSchedule(world) }),
  "cron.update": async world => ({ id: await newSchedule(world), enabled: false }),
  "cron.delete": async world => ({ id: await newSchedule(world) }),
  "cron.executions": async world => ({ id: await newSchedule(world) }),
  "cron.trigger": async world => ({ id: await newSchedule(world) }),
  "cron.getExecution": newExecution,
  "cron.cancelExecution": newExecution,
  "vectors.createCollection": async world => ({
    tenant_id: await organizationId(world),
    name: uniqueName(),
    dimension: 2,
  }),
  "vectors.getCollection": newCollection,
  "vectors.deleteCollection": newCollection,
  "vectors.list": newCollection,
  "vectors.upsert": newVectors,
  "vectors.batchUpsert": newVectors,
  "vectors.delete": async world => {
    const { vectors, ...at } = await newVectors(world)
    await world.key.vectors.upsert({ ...at, vectors })
    return { ...at, ids: ["a"] }
  },
  "integrations.create": async () => ({ provider: "github", repository: `acme/${uniqueName()}` }),
  "integrations.get": async world => ({ id: await newIntegration(world) }),
  "integrations.update": async world => ({ id: await newIntegration(world), preview: true }),
  "integrations.delete": async world => ({ id: await newIntegration(world) }),
  "integrations.rotateSecret": async world => ({ id: await newIntegration(world) }),
  "integrations.test": async world => ({ id: await newIntegration(world) }),
  "integrations.events": async world => ({ id: await newIntegration(world) }),
  "integrations.replayEvent": newGitEvent,
  "search.runIngest": async () => ({}),
  "events.createTopic": async () => ({ name: uniqueName() }),
  "events.getTopic": newTopic,
  "events.deleteTopic": newTopic,
  "events.publish": async world => ({ ...(await newTopic(world)), event_type: "order.paid", data: {} }),
  "events.tail": newTopic,
  "events.createSubscription": async world => ({
    ...(await newTopic(world)),
    sub_type: "webhook",
    config: { url: "https://example.com/hooks" },
  }),
  "events.listSubscriptions": newTopic,
  "events.getSubscription": newSubscription,
  "events.updateSubscription": async world => ({
    ...(await newSubscription(world)),
    config: { url: "https://example.com/others" },
  }),
  "events.deleteSubscription": newSubscription,
  "events.testSubscription": newSubscription,
  "events.rotateSecret": newSubscription,
  "events.replay": newSubscription,
  "events.deliveries": newSubscription,
  "events.retryDelivery": newDelivery,
  "webhooks.register": async world => ({
    tenant_id: await organizationId(world),
    url: "https://example.com/hooks",
    event_types: ["database.*"],
  }),
  "webhooks.get": sharedWebhook,
  "webhooks.update": async world => ({
    ...(await newWebhook(world)),
    url: "https://example.com/others",
    event_types: ["*"],
  }),
  "webhooks.unregister": newWebhook,
  "webhooks.rotateSecret": newWebhook,
  "webhooks.test": sharedWebhook,
  "webhooks.deliveries": sharedWebhook,
  "webhooks.retryDelivery": newWebhookDelivery,
  "webhooks.replay": sharedWebhook,
  "search.upsertSource": async () => ({ name: uniqueName(), type: "inline" }),
  "search.getSource": async world => ({ id: await newSearchSource(world) }),
  "search.deleteSource": async world => ({ id: await newSearchSource(world) }),
  "search.runSource": async world => ({ id: await newUrlSource(world) }),
  "search.listRuns": async world => ({ id: await newSearchSource(world) }),
  "search.getRun": async world => {
    const { run_id } = await world.key.search.runSource({ id: await newUrlSource(world) })
    return { id: run_id }
  },
  "search.putDocuments": async world => ({
    id: await newSearchSource(world),
    documents: [{ id: "1", title: "Welcome", text: "Getting started" }],
  }),
  "search.deleteDocuments": async world => ({ id: await newSearchSource(world), ids: ["1"] }),
  "notifications.send": async () => ({ title: "Hello" }),
  "notifications.get": newNotification,
  "notifications.read": newNotification,
  "notifications.unread": newNotification,
  "notifications.seen": newNotification,
  "notifications.archive": newNotification,
  "notifications.readAll": async () => ({}),
  "notifications.registerDevice": async () => ({ provider: "fcm", token: randomUUID() }),
  "notifications.unregisterDevice": async ({ key }) => ({
    device_id: (await key.notifications.registerDevice({ provider: "fcm", token: randomUUID() })).id,
  }),
  "notifications.updatePreferences": async () => ({ categories: { builds: false } }),
  "notifications.updateProviders": async () => ({ webpush: { subject: "mailto:ops@example.com" } }),
  "support.createTicket": async () => ({ subject: "Help", description: "It does not work." }),
  "support.getTicket": newTicket,
  "support.updateTicket": async world => ({ ...(await newTicket(world)), priority: "high" }),
  "support.closeTicket": newTicket,
  "support.listComments": newTicket,
  "support.addComment": async world => ({ ...(await newTicket(world)), body: "Still not." }),
  "support.createChat": async () => ({ message: "Hello?" }),
  "support.getChat": newChat,
  "support.closeChat": newChat,
  "support.readChat": newChat,
  "support.listMessages": newChat,
  "support.postMessage": async world => ({ ...(await newChat(world)), content: "Anybody?" }),
  "support.streamChat": newChat,
  "account.reauthenticate": async () => ({ password: PASSWORD }),
  "account.update": async () => ({ name: "Ada" }),
  "account.endSession": async ({ platform, person }) => {
    const { email } = await person.account.get()
    return { id: (await platform.as("").account.login({ email, password: PASSWORD })).session.id }
  },
  "organizations.create": async () => ({ name: uniqueName() }),
  "organizations.get": async world => ({ org_id: await organizationId(world) }),
  "organizations.update": async world => ({ org_id: await organizationId(world), name: uniqueName() }),
  "organizations.listMembers": async world => ({ org_id: await organizationId(world) }),
  "organizations.updateMember": async world => ({ ...(await newMember(world)), role: "viewer" }),
  "organizations.removeMember": newMember,
  "organizations.memberKeys": newMember,
  "organizations.listInvitations": async world => ({ org_id: await organizationId(world) }),
  "organizations.invite": async world => ({
    org_id: await organizationId(world),
    email: `${randomUUID()}@example.com`,
    role: "member",
  }),
  "organizations.revokeInvitation": newInvitation,
  "projects.create": async () => ({ name: uniqueName() }),
  "projects.get": async world => ({ id: await newProject(world) }),
  "projects.update": async world => ({ id: await newProject(world), name: uniqueName() }),
  "projects.delete": async world => ({ id: await newProject(world) }),
  "keys.create": async () => ({ name: uniqueName(), type: "secret", scopes: ["kv:read"] }),
  "keys.get": async world => ({ id: await newKey(world) }),
  "keys.update": async world => ({ id: await newKey(world), name: uniqueName() }),
  "keys.rotate": async world => ({ id: await newKey(world), grace_period_seconds: 60 }),
  "keys.revoke": async world => ({ id: await newKey(world) }),
  "keys.delete": async world => ({ id: await newKey(world) }),
  "approvals.get": async world => ({ id: await newApproval(world) }),
  "approvals.approve": async world => ({ id: await newApproval(world) }),
  "approvals.reject": async world => ({ id: await newApproval(world) }),
}

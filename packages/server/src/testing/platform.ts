/** A whole platform for a test: a real server over a cloned database, and clients of any tenant and scope. */
import { randomUUID } from "node:crypto"
import { rmSync } from "node:fs"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type KeyType, type PlanName, type Role, type Scope, scopeNames } from "@svc/contract"
import { createSvc, type Svc, type SvcOptions } from "@svc/sdk"
import { readConfig } from "../config.ts"
import { createPasswords } from "../core/accounts/passwords.ts"
import { accountStore } from "../core/accounts/store.ts"
import { mintKey, unrestricted } from "../core/keys/mint.ts"
import type { KeyRow } from "../core/keys/store.ts"
import { foundOrganization } from "../core/organizations/service.ts"
import { newId } from "../kernel/id.ts"
import { type Overrides, type Platform, startPlatform } from "../platform.ts"
import { createTestClock, type TestClock } from "./clock.ts"
import { cloneDatabase, makeTemplatesDir } from "./database.ts"
import type { Ends } from "./ends.ts"
import { createProbeArea } from "./probe.ts"
import { watchedFetch } from "./watch.ts"

export interface Tenant {
  readonly organizationId: string
  readonly projectId: string
  readonly ownerId: string
  readonly publishableKey: string
}

export interface KeyOptions extends Partial<Omit<KeyRow, "id" | "prefix" | "secret_hash">> {
  readonly type?: KeyType
}

export interface TestPlatform extends Platform {
  readonly clock: TestClock
  /** The tenant of that name, founded on first mention. */
  tenant(name: string, plan?: PlanName): Promise<Tenant>
  /** A new key of the tenant; bound to its project unless `project_id` is null. */
  key(tenant: string, scopes: readonly Scope[], options?: KeyOptions): Promise<{ id: string; secret: string }>
  /** An SDK client that holds a new key with these scopes. */
  client(tenant: string, ...scopes: Scope[]): Promise<Svc>
  /** An SDK client that holds a new key of the whole organization. */
  wide(tenant: string, ...scopes: Scope[]): Promise<Svc>
  /** An SDK client with that secret, or with other options. */
  as(secret: string, options?: Partial<SvcOptions>): Svc
  /** The headers of a person signed in to the tenant's console. */
  session(tenant: string, role?: Role): Promise<Record<string, string>>
  /** An SDK client of a person signed in to the tenant's console. */
  person(tenant: string, role?: Role): Promise<Svc>
  /** What the probe's handlers did, in order. */
  readonly effects: readonly string[]
  /** The id of an approval that a key of the tenant waits for. */
  pendingApproval(tenant: string): Promise<string>
  /** One HTTP request, checked against the contract like every other. */
  request(path: string, init?: RequestInit): Promise<Response>
}

export const PASSWORD = "correct horse battery"
const passwords = createPasswords(1)
let passwordHash: Promise<string> | undefined

export interface PlatformOptions extends Overrides {
  readonly env?: Readonly<Record<string, string>>
  /** What `probe.outside` waits for before its effect. */
  readonly wait?: () => Promise<void>
  /** A second process of one platform shares the first one's database. */
  readonly databaseUrl?: string
  /** Where its clock begins; that of a second process where the first one's is, however long starting it takes. */
  readonly startMs?: number
}

/** Set by `npm test` for the test files it starts: making a template takes a second, and each platform would. */
const TEMPLATES_VARIABLE = "SVC_TEST_TEMPLATES"
let ownTemplates: Promise<string> | undefined

const templatesDir = async (): Promise<string> => {
  const given = process.env[TEMPLATES_VARIABLE]
  if (given !== undefined) return given
  ownTemplates ??= makeTemplatesDir()
  const folder = await ownTemplates
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const start = async (t: Ends, options: PlatformOptions, clock: TestClock): Promise<Platform> => {
  const dataDir = await mkdtemp(join(tmpdir(), "svc-test-"))
  // Database servers run as other users, and would be placed elsewhere if these could not pass.
  await chmod(dataDir, 0o711)
  const database = options.databaseUrl === undefined ? await cloneDatabase() : undefined
  const config = readConfig({
    SVC_PORT: "0",
    SVC_DATA_DIR: dataDir,
    SVC_DATABASE_URL: options.databaseUrl ?? database?.url,
    SVC_DATABASE_CONNECTIONS: "8",
    // The same for all, so that two platforms can share a database.
    SVC_MASTER_KEY: Buffer.alloc(32, "test").toString("base64"),
    SVC_RATE_LIMIT: "off",
    SVC_AUTH_RATE_LIMIT: "off",
    SVC_TEXT_TO_SQL_MS: "60000",
    SVC_LOG_LEVEL: "silent",
    SVC_DATABASE_TEMPLATES_DIR: await templatesDir(),
    // The same driver on every machine, and the quickest.
    SVC_RUNTIME: "process",
    // Tests of images have a registry of their own.
    SVC_IMAGE_REGISTRIES: "none",
    // Only tests of it need it, and its start takes longer than theirs.
    SVC_WORKLOAD_NETWORK: "none",
    ...options.env,
  })
  const platform = await startPlatform(config, { clock, ...options })
  t.after(async () => {
    await platform[Symbol.asyncDispose]()
    await database?.[Symbol.asyncDispose]()
    await rm(dataDir, { recursive: true, force: true })
  })
  return platform
}

export const platform = async (t: Ends, options: PlatformOptions = {}): Promise<TestPlatform> => {
  const clock = createTestClock(options.startMs)
  const effects: string[] = []
  const areas = [createProbeArea(effects, options.wait), ...(options.areas ?? [])]
  const started = await start(t, { ...options, areas }, clock)
  const { db } = started.database
  const tenants = new Map<string, Promise<Tenant>>()

  const now = () => new Date(clock.now())

  const insertUser = async (): Promise<{ id: string; email: string }> => {
    passwordHash ??= passwords.hash(PASSWORD)
    const id = newId()
    const email = `${id}@example.com`
    await accountStore(db).insertUser({
      id,
      email,
      name: "Somebody",
      password_hash: await passwordHash,
      created_at: now(),
    })
    return { id, email }
  }

  const found = async (name: string, plan: PlanName): Promise<Tenant> => {
    const { id: ownerId } = await insertUser()
    const founded = await started.database.transaction(tx =>
      foundOrganization(tx, { name, userId: ownerId, plan, now: now() }),
    )
    return { ...founded, ownerId }
  }

  const tenant = (name: string, plan: PlanName = "enterprise"): Promise<Tenant> => {
    const known = tenants.get(name) ?? found(name, plan)
    tenants.set(name, known)
    return known
  }

  const key: TestPlatform["key"] = async (name, scopes, options = {}) => {
    const { organizationId, projectId, ownerId } = await tenant(name)
    const { row, secret } = await mintKey(db, now(), {
      organization_id: organizationId,
      project_id: projectId,
      type: "secret",
      name: `key of ${name}`,
      scopes: [...scopes],
      ...unrestricted,
      created_by: ownerId,
      ...options,
    })
    return { id: row.id, secret }
  }

  const as: TestPlatform["as"] = (secret, options = {}) =>
    createSvc({ apiKey: secret, baseUrl: started.url, fetch: watchedFetch, retries: 0, ...options })

  const request: TestPlatform["request"] = (path, init) => watchedFetch(`${started.url}${path}`, init)

  const pendingApproval: TestPlatform["pendingApproval"] = async name => {
    const { secret } = await key(name, ["kv:write"], { require_approval: true })
    const response = await request("/v1/probe/danger", {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ text: "approved" }),
    })
    const { data } = (await response.json()) as { data: { approval: { id: string } } }
    return data.approval.id
  }

  const session: TestPlatform["session"] = async (name, role = "owner") => {
    const { organizationId } = await tenant(name)
    const user = await insertUser()
    // Earlier than whatever the test makes: a person's session opens in the oldest of their organizations.
    const joined_at = new Date(clock.now() - 60_000)
    await db
      .insertInto("core.members")
      .values({
        organization_id: organizationId,
        user_id: user.id,
        role,
        project_ids: null,
        joined_at,
      })
      .execute()
    const response = await request("/v1/account/login", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: user.email, password: PASSWORD }),
    })
    const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? ""
    return { cookie, origin: started.url }
  }

  return {
    ...started,
    clock,
    effects,
    pendingApproval,
    tenant,
    key,
    as,
    request,
    session,
    client: async (name, ...scopes) => as((await key(name, scopes)).secret),
    wide: async (name, ...scopes) => as((await key(name, scopes, { project_id: null })).secret),
    person: async (name, role) => {
      const headers = await session(name, role)
      return createSvc({ baseUrl: started.url, fetch: watchedFetch, retries: 0, headers })
    },
  }
}

export const everyScope: readonly Scope[] = scopeNames
export const uniqueName = (): string => `name-${randomUUID().slice(0, 8)}`

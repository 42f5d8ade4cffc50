/** The 64 scopes, named `service:action` (specification 5.3). Any key holds some of them. */

const descriptions = {
  // Named by specification 5.3.
  "database:read": "Run SELECT, SHOW and EXPLAIN; read schemas, advice and query logs",
  "database:query": "Run any SQL statement, writes included; includes database:read",
  "database:branch": "Create and manage database branches",
  "storage:read": "List buckets and read objects",
  "storage:write": "Create and delete buckets; write and delete objects",
  "functions:deploy": "Create, redeploy and delete functions; list and read them",
  "functions:invoke": "Invoke functions; list and read them",
  "functions:logs": "Read the logs and invocations of functions; list and read them",
  "services:deploy": "Create, update, roll back and delete run services",
  "services:read": "List run services; read their instances, revisions and metrics",
  "services:logs": "Read the logs of run services",
  "compute:deploy": "Create, restart, roll back and delete deployments; list and read them",
  "compute:scale": "Change the instance counts of deployments; list and read them",
  "compute:logs": "Read the logs of deployments; list and read them",
  "ai:infer": "Use models: chat, embeddings, images, speech, retrieval, research, text",
  "ai:models": "List the models that can be called",
  "kv:read": "Read entries and list keys",
  "kv:write": "Set and delete entries",
  "events:publish": "Publish events to topics",
  "events:read": "List topics and subscriptions; read deliveries",
  "registry:pull": "Pull images; list repositories and tags",
  "registry:push": "Push and delete images",
  "search:read": "Query the search index; list its sources",
  "metering:read": "Read the organization's own usage",
  "email:read": "Read templates, domains, settings, delivery events and statistics",
  "email:write": "Create, update and delete e-mail templates",
  "email:send": "Send e-mail; manage sending domains and settings",
  "compliance:read": "Read the audit log, data-subject requests and the compliance status",
  "compliance:write": "Create data-subject requests and move their status",
  "vpc:read": "Read private networks, their peers and client configuration",
  "vpc:write": "Create and delete private networks and peers",
  "lb:read": "Read load balancers and their backends",
  "lb:write": "Create and delete load balancers and backends",
  "waf:read": "Read firewall rules, events and counters",
  "waf:write": "Create, replace and delete firewall rules",
  "notifications:read": "Read notifications and preferences",
  "notifications:write": "Send notifications; manage read marks, devices and preferences",
  "admin:full": "Everything, administration of the organization's end users included",

  // The specification counts 64 and leaves these 26 open.
  "database:manage": "Create, provision, delete and restore databases",
  "encryption:use": "Encrypt and decrypt with the tenant key",
  "encryption:rotate": "Rotate the tenant key",
  "functions:read": "List functions and read their configuration",
  "compute:read": "List deployments; read their instances and versions",
  "events:manage": "Create, change and delete topics and subscriptions; reading them takes events:read",
  "search:write": "Create and change search sources; run an ingest",
  "cron:read": "List schedules and read their executions",
  "cron:write": "Create, change, delete and trigger schedules",
  "domains:read": "List custom domains and read their state",
  "domains:write": "Add, verify and remove custom domains",
  "build:read": "List builds and read their logs",
  "build:write": "Start and cancel builds",
  "computers:read": "List computers and read their state",
  "computers:write": "Create, start, stop and delete computers; set their ssh keys",
  "computers:exec": "Run commands and read and write files on computers",
  "sandboxes:read": "List sandboxes, read their state and their files",
  "sandboxes:write": "Create, use, extend and delete sandboxes",
  "integrations:read": "List integrations, installations and repositories",
  "integrations:write": "Create, change and delete integrations; issue repository tokens",
  "vectors:read": "List vector collections and search them",
  "vectors:write": "Create vector collections and upsert vectors",
  "webhooks:read": "List webhooks and read their deliveries",
  "webhooks:write": "Register, change, test and remove webhooks",
  "billing:read": "Read balances, invoices, usage costs and agreements",
  "billing:write": "Buy credit, change plans, payment methods, caps and agreements",
} as const

export type Scope = keyof typeof descriptions

export interface ScopeSpec {
  readonly service: string
  readonly action: string
  readonly description: string
  /** A platform scope is never on a full access key (specification 5.3). */
  readonly platform: boolean
}

export const scopeNames = Object.keys(descriptions) as readonly Scope[]

const specOf = (scope: Scope): ScopeSpec => {
  const colon = scope.indexOf(":")
  return {
    service: scope.slice(0, colon),
    action: scope.slice(colon + 1),
    description: descriptions[scope],
    platform: scope === "admin:full",
  }
}

export const scopes = Object.fromEntries(scopeNames.map(scope => [scope, specOf(scope)])) as Readonly<
  Record<Scope, ScopeSpec>
>

export const isScope = (name: string): name is Scope => Object.hasOwn(descriptions, name)

/** Every scope but the platform ones: what a full access key holds, fixed by the server (specification 5.2). */
export const dataPlaneScopes: readonly Scope[] = scopeNames.filter(scope => !scopes[scope].platform)

/** Scopes that a scope implies: only two do, by specification 5.3. */
const impliedBy = (scope: Scope): readonly Scope[] => {
  if (scope === "admin:full") return scopeNames
  if (scope === "database:query") return ["database:read"]
  return []
}

/** The scopes a holder of `granted` has in effect, implied ones included. */
export const expandScopes = (granted: Iterable<Scope>): ReadonlySet<Scope> =>
  new Set([...granted].flatMap(scope => [scope, ...impliedBy(scope)]))

/**
 * A set of scopes as two 32-bit integers. Every request checks its key's scopes, and this check takes 2 ns where
 * a bigint takes 16 and a Set 30; a cached key also carries two numbers instead of a set of strings.
 * Positions follow the order of the table, so a mask is never stored: it lives as long as the process.
 */
export interface ScopeMask {
  readonly low: number
  readonly high: number
}

const positions = new Map(scopeNames.map((scope, position) => [scope, position]))

/** The position of a scope in a mask, 0 to 63. */
export const scopeBit = (scope: Scope): number => positions.get(scope) ?? 0

const maskOf = (members: Iterable<Scope>): ScopeMask => {
  let low = 0
  let high = 0
  for (const scope of members) {
    const bit = scopeBit(scope)
    if (bit < 32) low |= 1 << bit
    else high |= 1 << (bit - 32)
  }
  return { low, high }
}

/** What a key holds: the granted scopes with all they imply. Build it once, when the key is loaded. */
export const heldMask = (granted: Iterable<Scope>): ScopeMask => maskOf(expandScopes(granted))

const listOf = (access: Scope | readonly Scope[]): readonly Scope[] =>
  typeof access === "string" ? [access] : access

/** What an operation accepts: any one of these scopes is enough. Build it once, when the routes are built. */
export const acceptedMask = (access: Scope | readonly Scope[]): ScopeMask => maskOf(listOf(access))

/** Whether a key holding `held` has one of the `accepted` scopes. */
export const admits = (held: ScopeMask, accepted: ScopeMask): boolean =>
  ((held.low & accepted.low) | (held.high & accepted.high)) !== 0

const anyOf = new Intl.ListFormat("en-GB", { type: "disjunction" })

/** An operation's access in words: `kv:write`, or `database:read or database:query`. */
export const describeScopes = (access: string | readonly string[]): string =>
  typeof access === "string" ? access : anyOf.format(access)

export const roles = ["owner", "admin", "member", "viewer"] as const
export type Role = (typeof roles)[number]

const beyondMembers: ReadonlySet<Scope> = new Set([
  "admin:full",
  "billing:write",
  "compliance:write",
  "encryption:rotate",
])

const isForViewers = (scope: Scope): boolean => ["read", "logs"].includes(scopes[scope].action)

const ceilings: Readonly<Record<Role, ReadonlySet<Scope>>> = {
  owner: new Set(scopeNames),
  admin: new Set(scopeNames),
  member: new Set(scopeNames.filter(scope => !beyondMembers.has(scope))),
  viewer: new Set(scopeNames.filter(isForViewers)),
}

/** The most a person of this role can do or put on a key. */
export const roleCeiling = (role: Role): ReadonlySet<Scope> => ceilings[role]

import { randomBytes } from "node:crypto"
import { areas, type Input, page, pageOf, plans } from "@svc/contract"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { implement } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { requireScope } from "../../kernel/scopes.ts"
import { readChain } from "./certificates/chain.ts"
import type { Issuing } from "./certificates/issuing.ts"
import { certificateStore } from "./certificates/store.ts"
import { type Checker, nextCheckMs } from "./checker.ts"
import { isReserved, readDomain } from "./names.ts"
import { toDomain } from "./payloads.ts"
import { type DomainRow, domainStore } from "./store.ts"
import { DOMAIN_TOPIC, type Table } from "./table.ts"
import { type GivenTarget, NOWHERE, readTarget, type Targets } from "./targets.ts"

type Specs = typeof areas.domains.specs

export interface DomainHandlerNeeds {
  readonly changes: Changes
  readonly checker: Checker
  readonly table: Pick<Table, "settled">
  readonly targets: Targets
  readonly issuing: Issuing
  readonly box: SecretBox
  readonly cnameHost: string | undefined
  /** Names of the installation: neither these nor those below are anybody else's. */
  readonly ownNames: readonly string[]
}

const TOKEN_BYTES = 16

const auditTarget = ({ id, domain }: DomainRow) => ({ type: "domain", id, name: domain })

const find = (call: Call, id: string, how: "find" | "findForUpdate" = "find"): Promise<DomainRow> =>
  requireRow(domainStore(call.db)[how](call.projectTenant.projectId, id), "domain_not_found", { domain: id })

const nameOf = ({ ownNames }: DomainHandlerNeeds, text: string): string => {
  const name = readDomain(text)
  if (name === undefined || isReserved(name, ownNames))
    throw fault("invalid_parameter", {
      reason:
        "domain must be a host name of the internet such as www.example.com, and none of this installation",
    })
  return name
}

const checkRoom = async (call: Call): Promise<void> => {
  const { organization } = call
  const limit = plans[organization.plan].custom_domains
  const count = await domainStore(call.db).countToCreate(organization.id)
  if (limit !== null && count >= limit)
    throw fault("plan_limit_reached", { limit, resources: limit === 1 ? "custom domain" : "custom domains" })
}

const targetColumns = (needs: DomainHandlerNeeds, call: Call, target: GivenTarget | null | undefined) => {
  const { organizationId, projectId } = call.projectTenant
  return target
    ? readTarget(needs.targets, target, { organizationId, projectId }, scope => requireScope(call, scope))
    : NOWHERE
}

const change = async (needs: DomainHandlerNeeds, call: Call, row: DomainRow, to: Partial<DomainRow>) => {
  const changed = { ...to, updated_at: call.now }
  await domainStore(call.db).update(row.project_id, row.id, changed)
  await needs.changes.invalidate(call.db, DOMAIN_TOPIC, row.id)
  call.describe({ targets: [auditTarget(row)] })
  return toDomain({ ...row, ...changed }, needs.cnameHost)
}

/** The columns of a certificate of the caller's own. */
const upload = async (
  { box }: DomainHandlerNeeds,
  call: Call,
  row: DomainRow,
  { certificate, private_key }: Omit<Input<Specs["setCertificate"]>, "id">,
): Promise<Partial<DomainRow>> => {
  if (certificate === undefined || private_key === undefined)
    throw fault("invalid_parameter", { reason: "certificate and private_key are required" })
  const read = readChain({ chain: certificate, privateKey: private_key }, row.domain, call.now.getTime())
  if (typeof read === "string") throw fault("invalid_parameter", { reason: `certificate: ${read}` })
  const change = await certificateStore(call.db).put(box, row, read, call.now)
  return { ...change, certificate_source: "upload", certificate_next_at: null }
}

const issue = async ({ issuing }: DomainHandlerNeeds, call: Call, row: DomainRow) => {
  if (!issuing.isPossible)
    throw fault("not_implemented", {
      reason: "no authority issues certificates here; the operator sets SVC_ACME_DIRECTORY",
    })
  if (row.status !== "active")
    throw fault("invalid_parameter", { reason: "source: a certificate is issued once the domain is active" })
  return issuing.begin(call.db, row, call.now)
}

const newRow = (
  input: Input<Specs["create"]>,
  domain: string,
  call: Call,
): Omit<DomainRow, keyof typeof NOWHERE> => ({
  ...{ id: newId(), domain, status: "pending_verification", token: randomBytes(TOKEN_BYTES).toString("hex") },
  organization_id: call.projectTenant.organizationId,
  project_id: call.projectTenant.projectId,
  ...{ txt_found: false, cname_found: false, last_error: null, last_checked_at: null, verified_at: null },
  ...{ force_https: input.force_https ?? false, hsts: input.hsts ?? false },
  ...{ certificate_source: null, certificate_id: null, certificate_not_after: null },
  ...{ certificate_error: null, certificate_failures: 0, certificate_next_at: null },
  checking_since: call.now,
  next_check_at: new Date(nextCheckMs(call.now.getTime(), call.now.getTime())),
  ...{ created_at: call.now, updated_at: call.now },
})

export const domainsHandlers = implement(areas.domains, (needs: DomainHandlerNeeds) => ({
  async list(input, call) {
    const { rows, total } = await domainStore(call.db).list(call.projectTenant.projectId, pageOf(input))
    return page({ rows: rows.map(row => toDomain(row, needs.cnameHost)), total }, input)
  },

  async create(input, call) {
    const domain = nameOf(needs, input.domain)
    const columns = await targetColumns(needs, call, input.target)
    await checkRoom(call)
    const row: DomainRow = { ...newRow(input, domain, call), ...columns }
    try {
      await domainStore(call.db).insert(row)
    } catch (error) {
      if (!isUniqueViolation(error, "domains_name")) throw error
      throw fault("domain_taken", { domain })
    }
    await needs.checker.enqueue(call.db, row)
    call.describe({ targets: [auditTarget(row)] })
    return toDomain(row, needs.cnameHost)
  },

  async get({ id }, call) {
    return toDomain(await find(call, id), needs.cnameHost)
  },

  async update({ id, ...input }, call) {
    const row = await find(call, id, "findForUpdate")
    const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
    return change(needs, call, row, given)
  },

  async delete({ id }, call) {
    const row = await find(call, id, "findForUpdate")
    await domainStore(call.db).delete(row.project_id, id)
    await needs.changes.invalidate(call.db, DOMAIN_TOPIC, id)
    call.describe({ targets: [auditTarget(row)] })
    return { id, deleted: true }
  },

  // Name servers may take seconds, and no transaction should wait for them.
  async verify({ id }, call) {
    const checked = await needs.checker.check(call.projectTenant.projectId, id, call.signal)
    if (!checked) throw fault("domain_not_found", { domain: id })
    call.describe({ targets: [auditTarget(checked.row)] })
    if (checked.isTaken) throw fault("domain_taken", { domain: checked.row.domain })
    await needs.table.settled()
    return toDomain(checked.row, needs.cnameHost)
  },

  async setTarget({ id, target }, call) {
    const row = await find(call, id, "findForUpdate")
    return change(needs, call, row, await targetColumns(needs, call, target))
  },

  async setCertificate({ id, ...input }, call) {
    const row = await find(call, id, "findForUpdate")
    const columns =
      input.source === "acme" ? await issue(needs, call, row) : await upload(needs, call, row, input)
    return change(needs, call, row, columns)
  },
}))

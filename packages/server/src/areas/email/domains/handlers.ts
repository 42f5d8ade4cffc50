import { generateKeyPair, randomBytes } from "node:crypto"
import { promisify } from "node:util"
import { type areas, EMAIL_DOMAINS_MAX, page, pageOf } from "@svc/contract"
import type { SecretBox } from "../../../core/secrets/secret-box.ts"
import type { Call } from "../../../kernel/call.ts"
import { fault } from "../../../kernel/fault.ts"
import { newId } from "../../../kernel/id.ts"
import type { Handlers } from "../../../kernel/implement.ts"
import { settingsStore } from "../settings/store.ts"
import type { DomainChecker } from "./checker.ts"
import { dkimContext } from "./keys.ts"
import { readDomain } from "./names.ts"
import { toDomain } from "./payloads.ts"
import { delayBefore } from "./progress.ts"
import type { MailHosts } from "./records.ts"
import { type DomainRow, domainStore } from "./store.ts"

type Specs = typeof areas.email.specs
type DomainOperation = "listDomains" | "addDomain" | "getDomain" | "deleteDomain" | "verifyDomain"

export interface DomainHandlerNeeds {
  readonly box: SecretBox
  readonly hosts: MailHosts
  readonly checker: DomainChecker
}

const SELECTOR = "svc1"
const RETURN_PATH = "bounce"
const TRACKING_SUBDOMAIN = "track"
/** What receivers accept everywhere, and what fits into a DNS answer by UDP. */
const DKIM_BITS = 2048
const TOKEN_BYTES = 24

const makeKeyPair = promisify(generateKeyPair)

const newDkimKey = async () => {
  const { publicKey, privateKey } = await makeKeyPair("rsa", {
    modulusLength: DKIM_BITS,
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  })
  return { publicKey: publicKey.toString("base64"), privateKey }
}

const target = ({ id, domain }: DomainRow) => ({ type: "email_domain", id, name: domain })

const isEnabled = async ({ db, organization }: Call): Promise<boolean> =>
  (await settingsStore(db).find(organization.id))?.own_domain_delivery_enabled ?? false

export const domainHandlers = (needs: DomainHandlerNeeds): Pick<Handlers<Specs>, DomainOperation> => {
  const { box, hosts, checker } = needs

  const makeRow = async (call: Call, domain: string): Promise<DomainRow> => {
    const id = newId()
    const { publicKey, privateKey } = await newDkimKey()
    return {
      ...{ id, organization_id: call.organization.id, domain },
      ...{ return_path: RETURN_PATH, tracking_subdomain: TRACKING_SUBDOMAIN },
      ownership_token: randomBytes(TOKEN_BYTES).toString("hex"),
      ...{ dkim_selector: SELECTOR, dkim_public_key: publicKey },
      dkim_private_key: await box.seal(call.organization.id, dkimContext(id), privateKey),
      ...{ status: "not_started", findings: {}, ownership_proven: false },
      ...{ checking_since: call.now, checks: 0, last_checked_at: null, verified_at: null },
      next_check_at: new Date(call.now.getTime() + delayBefore(0)),
      created_at: call.now,
    }
  }

  return {
    async listDomains(input, call) {
      const { rows, total } = await domainStore(call.db).list(call.organization.id, pageOf(input))
      const enabled = await isEnabled(call)
      return page({ rows: rows.map(row => toDomain(row, hosts, enabled)), total }, input)
    },

    async addDomain({ domain: text, return_path, tracking_subdomain }, call) {
      const domain = readDomain(text)
      if (domain === undefined)
        throw fault("invalid_parameter", { reason: "domain must be a domain name such as mail.example.com" })
      const row = {
        ...(await makeRow(call, domain)),
        ...(return_path !== undefined && { return_path: return_path.toLowerCase() }),
        ...(tracking_subdomain !== undefined && { tracking_subdomain: tracking_subdomain.toLowerCase() }),
      }
      if (row.return_path === row.tracking_subdomain)
        throw fault("invalid_parameter", { reason: "return_path and tracking_subdomain must differ" })
      const store = domainStore(call.db)
      await store.lockName(domain)
      if (await store.isOthers(call.organization.id, domain)) throw fault("domain_taken", { domain })
      if ((await store.count(call.organization.id)) >= EMAIL_DOMAINS_MAX)
        throw fault("plan_limit_reached", { limit: EMAIL_DOMAINS_MAX, resources: "sending domains" })
      if (!(await store.insert(row))) throw fault("domain_taken", { domain })
      await checker.enqueue(call.db, row)
      call.describe({ targets: [target(row)] })
      return toDomain(row, hosts, await isEnabled(call))
    },

    async getDomain({ id }, call) {
      const row = await domainStore(call.db).find(call.organization.id, id)
      if (!row) throw fault("domain_not_found")
      return toDomain(row, hosts, await isEnabled(call))
    },

    async deleteDomain({ id }, call) {
      const row = await domainStore(call.db).delete(call.organization.id, id)
      if (!row) throw fault("domain_not_found")
      call.describe({ targets: [target(row)] })
      return toDomain(row, hosts, false)
    },

    // Name servers may take seconds, and no transaction should wait for them.
    verifyDomain: async ({ id }, call) => {
      const row = await checker.check(call.organization.id, id, call.signal)
      if (!row) throw fault("domain_not_found")
      call.describe({ targets: [target(row)] })
      return toDomain(row, hosts, await isEnabled(call))
    },
  }
}

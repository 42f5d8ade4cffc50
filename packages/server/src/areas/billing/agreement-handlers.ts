/** Agreements, overage, the spending cap and what an organization tells the operator. */
import { type AgreementStatus, type areas, type Input, page, pageOf } from "@svc/contract"
import { NONE } from "../../core/meters/meters.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Ledger } from "../../services/ledger/ledger.ts"
import { type AgreementRow, agreementStore } from "./agreement-store.ts"
import { type Charging, INFRASTRUCTURE } from "./charging.ts"
import { checkOperator } from "./payments.ts"
import type { PriceList } from "./price-list.ts"
import { DAY_MS, monthOf } from "./rules.ts"

type Specs = typeof areas.billing.specs

export interface AgreementHandlerNeeds {
  readonly ledger: Ledger
  readonly prices: PriceList
  readonly charging: Charging
  readonly termsVersion: string
}

const GLITCH_TRACKER = "glitch-tracker"
const GLITCH_DAYS = 31

const toAgreement = (tenantId: string, module: string, row: AgreementRow | undefined) => ({
  tenant_id: tenantId,
  module,
  status: (row?.status ?? "none") as AgreementStatus,
  terms_version: row?.terms_version ?? null,
  accepted_at: row?.accepted_at.toISOString() ?? null,
  accepted_by: row?.accepted_by ?? null,
  disabled_at: row?.disabled_at?.toISOString() ?? null,
  autodebit: {
    enabled: (row?.autodebit_since ?? null) !== null,
    since: row?.autodebit_since?.toISOString() ?? null,
  },
})

const createAgreements = ({ charging, termsVersion }: AgreementHandlerNeeds) => ({
  async show({ db, organization }: Call, module: string) {
    return toAgreement(organization.id, module, await agreementStore(db).find(organization.id, module))
  },

  async enable(call: Call, module: string, autodebit: boolean) {
    const { db, organization, now, principal } = call
    const store = agreementStore(db)
    const before = await store.find(organization.id, module)
    const since = before?.autodebit_since ?? null
    if (autodebit && since === null) await charging.forgive(db, organization, module, now)
    const isSame = before?.status === "active" && before.terms_version === termsVersion
    const row: AgreementRow = {
      organization_id: organization.id,
      module,
      status: "active",
      terms_version: termsVersion,
      accepted_at: isSame ? before.accepted_at : now,
      accepted_by: isSame ? before.accepted_by : `${principal.type}:${principal.id}`,
      disabled_at: null,
      autodebit_since: autodebit ? (since ?? now) : since,
    }
    await store.put(row)
    call.describe({
      targets: [{ type: "agreement", id: module }],
      metadata: { autodebit, terms: termsVersion },
    })
    return toAgreement(organization.id, module, row)
  },

  async disable(call: Call, module: string) {
    const { db, organization, now } = call
    await agreementStore(db).disable(organization.id, module, now)
    call.describe({ targets: [{ type: "agreement", id: module }] })
    return toAgreement(organization.id, module, await agreementStore(db).find(organization.id, module))
  },
})

export const agreementHandlers = (needs: AgreementHandlerNeeds) => {
  const { show, enable, disable } = createAgreements(needs)
  const modules = [...new Set(needs.prices.meters.map(({ service }) => service))].sort()

  const known = (module: string): string => {
    if (!modules.includes(module)) throw fault("agreement_not_found", { module })
    return module
  }

  return {
    async agreements(_: unknown, { db, organization }: Call) {
      const rows = new Map((await agreementStore(db).list(organization.id)).map(row => [row.module, row]))
      const names = [INFRASTRUCTURE, ...modules]
      return { agreements: names.map(name => toAgreement(organization.id, name, rows.get(name))) }
    },
    infraAgreement: (_: unknown, call: Call) => show(call, INFRASTRUCTURE),
    enableInfraAgreement: ({ autodebit = false }: Input<Specs["enableInfraAgreement"]>, call: Call) =>
      enable(call, INFRASTRUCTURE, autodebit),
    disableInfraAgreement: (_: unknown, call: Call) => disable(call, INFRASTRUCTURE),
    moduleAgreement: async ({ module }: Input<Specs["moduleAgreement"]>, call: Call) =>
      show(call, known(module)),
    enableModuleAgreement: async (
      { module, autodebit = false }: Input<Specs["enableModuleAgreement"]>,
      call: Call,
    ) => enable(call, known(module), autodebit),
    setupModuleAutodebit: async ({ module }: Input<Specs["setupModuleAutodebit"]>, call: Call) =>
      enable(call, known(module), true),
    disableModuleAgreement: async ({ module }: Input<Specs["disableModuleAgreement"]>, call: Call) =>
      disable(call, known(module)),
  }
}

const capOf = async (ledger: Ledger, { db, organization, now }: Call) => {
  const wallet = await ledger.read(db).wallet(organization.id, now)
  const isThisMonth = wallet?.month === monthOf(now).start.toISOString().slice(0, 10)
  return {
    cap_micros: wallet?.cap_micros ?? null,
    action: (wallet?.cap_action ?? "stop") as "stop" | "notify",
    spent_micros: isThisMonth ? wallet.month_micros : 0,
  }
}

export const limitHandlers = ({ ledger }: Pick<AgreementHandlerNeeds, "ledger">) => ({
  async toggleOverage({ enabled, limit_micros }: Input<Specs["toggleOverage"]>, call: Call) {
    const { db, organization, now } = call
    const most = ledger.overageMaxMicros
    const limit = enabled ? (limit_micros ?? most) : null
    if (limit !== null && limit > most)
      throw fault("invalid_amount", { reason: `the operator allows ${most} to be owed` })
    if (limit === 0) throw fault("invalid_amount", { reason: "the operator allows nothing to be owed" })
    await ledger.read(db).limit(organization.id, { overage_limit_micros: limit }, now)
    call.describe({ metadata: { overage_limit_micros: limit } })
    const wallet = await ledger.read(db).wallet(organization.id, now)
    return { overage_enabled: enabled, limit_micros: limit, used_micros: 0 - (wallet?.overage_micros ?? 0) }
  },

  spendingCap: (_: unknown, call: Call) => capOf(ledger, call),

  async setSpendingCap({ cap_micros, action = "stop" }: Input<Specs["setSpendingCap"]>, call: Call) {
    const { db, organization, now } = call
    await ledger.read(db).limit(organization.id, { cap_micros, cap_action: action }, now)
    call.describe({ metadata: { cap_micros, action } })
    return capOf(ledger, call)
  },

  async removeSpendingCap(_: unknown, { db, organization, now }: Call) {
    await ledger.read(db).limit(organization.id, { cap_micros: null, cap_action: "stop" }, now)
    return undefined
  },
})

const glitchOf = async ({ db, organization }: Call) => {
  const row = await agreementStore(db).find(organization.id, GLITCH_TRACKER)
  return {
    enabled: row?.status === "active",
    agreement_status: (row?.status ?? "none") as AgreementStatus,
    accepted_at: row?.accepted_at.toISOString() ?? null,
  }
}

export const tellingHandlers = (needs: AgreementHandlerNeeds) => {
  const { enable, disable } = createAgreements(needs)
  return {
    glitchTracker: (_: unknown, call: Call) => glitchOf(call),
    async enableGlitchTracker(_: unknown, call: Call) {
      await enable(call, GLITCH_TRACKER, false)
      return glitchOf(call)
    },
    async disableGlitchTracker(_: unknown, call: Call) {
      await disable(call, GLITCH_TRACKER)
      return glitchOf(call)
    },
    async glitches(input: Input<Specs["glitches"]>, call: Call) {
      await checkOperator(call)
      const since = new Date(call.now.getTime() - GLITCH_DAYS * DAY_MS)
      const found = await agreementStore(call.db).glitches(since, pageOf(input))
      const idOf = (id: string) => (id === NONE ? null : id)
      const rows = found.rows.map(row => ({
        ...{ organization_id: row.organization_id, day: row.day, failed_requests: Math.round(row.quantity) },
        ...{ project_id: idOf(row.project_id), key_id: idOf(row.key_id) },
      }))
      return page({ rows, total: found.total }, input)
    },

    async cancellationFeedback(input: Input<Specs["cancellationFeedback"]>, call: Call) {
      const { tenant_id, reason, comment = "", would_return = null } = input
      const { db, organization, now } = call
      if (tenant_id.toLowerCase() !== organization.id) throw fault("tenant_mismatch")
      const id = newId(now.getTime())
      const row = { id, organization_id: organization.id, reason, comment, would_return, created_at: now }
      await agreementStore(db).insertFeedback(row)
      call.describe({ targets: [{ type: "feedback", id }] })
      return { id }
    },
    async feedback(input: Input<Specs["feedback"]>, call: Call) {
      await checkOperator(call)
      const found = await agreementStore(call.db).feedback(pageOf(input))
      const rows = found.rows.map(row => ({ ...row, created_at: row.created_at.toISOString() }))
      return page({ rows, total: found.total }, input)
    },
  }
}

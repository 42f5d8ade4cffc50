import type { areas } from "@svc/contract"
import type { SecretBox } from "../../../core/secrets/secret-box.ts"
import type { Db } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"
import type { Handlers } from "../../../kernel/implement.ts"
import { requireRow } from "../../../kernel/require-row.ts"
import type { SendingSettings } from "../delivery.ts"
import { domainStore } from "../domains/store.ts"
import { defaultSettings, keepsPassword, replacing, toSendingSettings, toSettings } from "./rules.ts"
import { settingsStore } from "./store.ts"

type Specs = typeof areas.email.specs

export interface SettingsHandlerNeeds {
  readonly box: SecretBox
  /** What is wrong with a server's name that a user gives; undefined when nothing is. */
  readonly hostProblem: (host: string) => string | undefined
}

const contextOf = (organizationId: string): string => `email.relay:${organizationId}`

export const settingsHandlers = (
  needs: SettingsHandlerNeeds,
): Pick<Handlers<Specs>, "getSettings" | "updateSettings"> => ({
  async getSettings(_input, call) {
    const row = await settingsStore(call.db).find(call.organization.id)
    return toSettings(row ?? { ...defaultSettings(call.organization.id), updated_at: null })
  },

  async updateSettings(given, call) {
    const { id: organizationId } = call.organization
    const store = settingsStore(call.db)
    const before = (await store.findForUpdate(organizationId)) ?? defaultSettings(organizationId)
    const after = replacing(before, given, call.now)
    const relay = given.delivery?.relay
    if (after.mode === "relay" && !relay)
      throw fault("invalid_parameter", { reason: "mode relay needs delivery.relay" })
    const problem = relay && needs.hostProblem(relay.host)
    if (problem) throw fault("invalid_parameter", { reason: `delivery.relay.host: ${problem}` })
    if (after.default_domain_id !== null) {
      await requireRow(domainStore(call.db).find(organizationId, after.default_domain_id), "domain_not_found")
    }
    if (relay?.password === undefined) {
      if (!keepsPassword(before, after)) after.relay_password = null
    } else {
      after.relay_password =
        relay.password === null
          ? null
          : await needs.box.seal(organizationId, contextOf(organizationId), relay.password)
    }
    await store.put(after)
    return toSettings(after)
  },
})

/** One query. */
export const createSettingsReader =
  ({ db, box }: { readonly db: Db; readonly box: SecretBox }) =>
  async (organizationId: string, on: Db = db): Promise<SendingSettings> => {
    const row = (await settingsStore(on).find(organizationId)) ?? defaultSettings(organizationId)
    const isRelayed = row.mode === "relay" && row.relay_password !== null
    const password = isRelayed
      ? await box.open(organizationId, contextOf(organizationId), row.relay_password ?? "")
      : null
    return toSendingSettings(row, password)
  }

import { isIP } from "node:net"
import { eventHandlers } from "./analytics/events.ts"
import { figureHandlers } from "./analytics/handlers.ts"
import { createReputationGuard } from "./analytics/reputation.ts"
import type { EmailDelivery } from "./delivery.ts"
import { createDomainChecker } from "./domains/checker.ts"
import { domainHandlers } from "./domains/handlers.ts"
import { createSigners } from "./domains/keys.ts"
import { createIntake } from "./inbound/intake.ts"
import type { SmtpListenerNeeds } from "./inbound/smtp-listener.ts"
import type { Needs } from "./needs.ts"
import { createSettingsReader, settingsHandlers } from "./settings/handlers.ts"
import { mailSettings } from "./settings.ts"
import { createSuppressAfter } from "./suppression/after.ts"
import { suppressionHandlers } from "./suppression/handlers.ts"
import { suppressionStore } from "./suppression/store.ts"
import { trackingHandlers } from "./tracking/handlers.ts"
import { createLinks } from "./tracking/links.ts"
import { createSigningKeys } from "./tracking/signing-keys.ts"

const hostProblem = (outbound: Needs["outbound"]) => (host: string) =>
  outbound.urlProblem(`https://${isIP(host) === 6 ? `[${host}]` : host}/`)

/** Most installations have none, and do without what it loads. */
const openSmtpListener = async (needs: SmtpListenerNeeds) =>
  (await import("./inbound/smtp-listener.ts")).openSmtpListener(needs)

/** Starts the delivery side: its operations, and what the sending side asks of it. */
export const openDelivery = async (services: Needs) => {
  const { database, clock, log, box, outbound, platformEvents, baseUrl } = services
  const mail = mailSettings(services.settings, services.installation)
  const { db } = database
  const keys = createSigningKeys({ db, box })
  const handlers = {
    ...domainHandlers({ box, hosts: mail, checker: createDomainChecker({ ...services, hosts: mail }) }),
    ...settingsHandlers({ box, hostProblem: hostProblem(outbound) }),
    ...eventHandlers(),
    ...figureHandlers(),
    ...suppressionHandlers(),
    ...trackingHandlers({ database, keys, platformEvents }),
  }
  const delivery: EmailDelivery = {
    settingsOf: createSettingsReader({ db, box }),
    findSigner: createSigners({ db, box }),
    suppressed: (on, organizationId, addresses) => suppressionStore(on).among(organizationId, addresses),
    suppressAfter: createSuppressAfter(createReputationGuard(services)),
    ...createLinks({ db, keys, baseUrl, takesBounces: mail.listenOn !== undefined }),
  }
  const { suppressAfter } = delivery
  const intake = createIntake({ database, clock, keys, platformEvents, suppressAfter })
  const listener =
    mail.listenOn &&
    (await openSmtpListener({
      intake,
      replies: services.mailReplies,
      log,
      name: mail.mailHost,
      ...mail.listenOn,
    }))
  return {
    handlers,
    delivery,
    /** Where reports about mails are taken; null where they are not. */
    reportsPort: listener?.port ?? null,
    [Symbol.asyncDispose]: async () => listener?.[Symbol.asyncDispose](),
  }
}

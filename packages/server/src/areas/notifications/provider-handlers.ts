import { createPrivateKey } from "node:crypto"
import type { areas, Input, Output } from "@svc/contract"
import { checkLeads } from "../../core/organizations/rules.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { ApnsCredentials, FcmCredentials } from "../../ports/push/port.ts"
import type { ProviderRow, ProviderSettings } from "./providers.ts"

type Specs = typeof areas.notifications.specs
type ProvidersInput = Input<Specs["updateProviders"]>
type Payload = Output<Specs["getProviders"]>

export interface ProviderHandlerNeeds {
  readonly providers: ProviderSettings
  readonly urlProblem: (url: string) => string | undefined
}

const FCM_URL = "https://fcm.googleapis.com"
const GOOGLE_TOKEN_URL = "https://oauth2.googleapis.com/token"

/** RFC 8292, 2.1. */
const SUBJECT = /^(mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/

const invalid = (reason: string) => fault("invalid_parameter", { reason })

const checkKey = (field: string, pem: string, type: "rsa" | "ec") => {
  let kind: string | undefined
  try {
    kind = createPrivateKey(pem).asymmetricKeyType
  } catch {
    // Its text is a secret, and so is what a parser says of it.
  }
  if (kind !== type)
    throw invalid(`${field} must be a private key (${type === "ec" ? "ECDSA" : "RSA"}) in PEM`)
}

const createChecks = (urlProblem: ProviderHandlerNeeds["urlProblem"]) => {
  const checkUrl = (field: string, url: string): string => {
    const problem = urlProblem(url)
    if (problem !== undefined) throw invalid(`${field}: ${problem}`)
    return url.replace(/\/$/, "")
  }

  return {
    fcm(given: NonNullable<ProvidersInput["fcm"]>): FcmCredentials {
      checkKey("fcm.private_key", given.private_key, "rsa")
      return {
        ...{ projectId: given.project_id, clientEmail: given.client_email, privateKey: given.private_key },
        url: checkUrl("fcm.url", given.url ?? FCM_URL),
        tokenUrl: checkUrl("fcm.token_url", given.token_url ?? GOOGLE_TOKEN_URL),
      }
    },
    apns(given: NonNullable<ProvidersInput["apns"]>): ApnsCredentials {
      checkKey("apns.private_key", given.private_key, "ec")
      return {
        ...{ teamId: given.team_id, keyId: given.key_id, privateKey: given.private_key, topic: given.topic },
        url: given.url === undefined ? undefined : checkUrl("apns.url", given.url),
      }
    },
  }
}

export const providerHandlers = ({ providers, urlProblem }: ProviderHandlerNeeds) => {
  const checks = createChecks(urlProblem)

  const shown = async (row: ProviderRow): Promise<Payload> => {
    const [fcm, apns] = [await providers.fcm(row), await providers.apns(row)]
    return {
      webpush: { configured: true, subject: providers.subjectOf(row), public_key: row.vapid_public_key },
      fcm: {
        configured: fcm !== null,
        project_id: fcm?.projectId ?? null,
        client_email: fcm?.clientEmail ?? null,
      },
      apns: {
        configured: apns !== null,
        ...{ team_id: apns?.teamId ?? null, key_id: apns?.keyId ?? null, topic: apns?.topic ?? null },
      },
    }
  }

  return {
    async webPushKey(_input: unknown, call: Call) {
      return { public_key: (await providers.rowFor(call)).vapid_public_key }
    },

    async getProviders(_input: unknown, call: Call) {
      return shown(await providers.rowFor(call))
    },

    async updateProviders({ webpush, fcm, apns }: ProvidersInput, call: Call) {
      const { db, organization, principal } = call
      if (principal.session) checkLeads(principal.role)
      if (webpush && !SUBJECT.test(webpush.subject))
        throw invalid("webpush.subject must be an address of mailto: or https:")
      await providers.row(db, organization.id)
      await providers.update(db, organization.id, {
        ...(webpush && { vapid_subject: webpush.subject }),
        ...(fcm !== undefined && {
          fcm: fcm && (await providers.seal(organization.id, "fcm", checks.fcm(fcm))),
        }),
        ...(apns !== undefined && {
          apns: apns && (await providers.seal(organization.id, "apns", checks.apns(apns))),
        }),
      })
      call.describe({ targets: [{ type: "notification_providers", id: organization.id }] })
      return shown(await providers.row(db, organization.id))
    },
  }
}

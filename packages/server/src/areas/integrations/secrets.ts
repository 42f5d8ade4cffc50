import type { SecretBox } from "../../core/secrets/secret-box.ts"
import { createSigningSecret, signingSecretHint } from "../../services/deliveries/signature.ts"
import type { IntegrationRow } from "./store.ts"

type Sealed = Pick<IntegrationRow, "organization_id" | "id" | "secret" | "old_secret" | "old_secret_until">

/** What providers sign with. */
export interface HookSecrets {
  /** A secret, the given or a new one, and the columns that keep it. */
  make(
    integration: Pick<IntegrationRow, "organization_id" | "id">,
    given: string | undefined,
  ): Promise<{ readonly secret: string; readonly columns: { secret: string; secret_hint: string } }>
  /** The secrets that are accepted now, the newest first. */
  accepted(row: Sealed, now: Date): Promise<readonly string[]>
}

const sealedFor = (id: string): string => `integration:${id}`

export const createHookSecrets = (box: SecretBox): HookSecrets => ({
  // In the form of Standard Webhooks, which GitLab's signatures need and the others take as any text.
  async make({ organization_id, id }, given = createSigningSecret()) {
    const secret = await box.seal(organization_id, sealedFor(id), given)
    return { secret: given, columns: { secret, secret_hint: signingSecretHint(given) } }
  },

  async accepted({ organization_id, id, secret, old_secret, old_secret_until }, now) {
    const isOldAccepted = old_secret !== null && old_secret_until !== null && old_secret_until > now
    const sealed = isOldAccepted ? [secret, old_secret] : [secret]
    return Promise.all(sealed.map(text => box.open(organization_id, sealedFor(id), text)))
  },
})

/** The secrets that sign for an endpoint: its own, and the ones before it until their time is over. */
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"

/** As many as Svix lets sign at a time. */
const OLD_SECRETS_MAX = 10

/** Sealed. */
export interface OldSecret {
  readonly id: string
  readonly secret: string
  readonly signs_until: Date
}

/** Where an area keeps those of one endpoint. */
export interface OldSecretStore {
  /** The newest first; those whose time is over may still be among them. */
  list(): Promise<readonly OldSecret[]>
  insert(old: OldSecret): Promise<void>
  /** Those that signed until then at most; all of them without a time. */
  delete(until?: Date): Promise<void>
}

/** Lets a sealed secret that is about to be replaced sign on for so long; with no time at all, no old one signs. */
export const retireSecret = async (
  store: OldSecretStore,
  secret: string,
  graceSeconds: number,
  now: Date,
): Promise<void> => {
  if (graceSeconds === 0) return store.delete()
  await store.delete(now)
  if ((await store.list()).length >= OLD_SECRETS_MAX) {
    const reason = `${OLD_SECRETS_MAX} earlier secrets still sign; end them with grace_period_seconds 0`
    throw fault("invalid_parameter", { reason })
  }
  const signs_until = new Date(now.getTime() + graceSeconds * 1_000)
  await store.insert({ id: newId(), secret, signs_until })
}

/** Opened. */
export interface SigningSecret {
  readonly secret: string
  /** Null: for good. */
  readonly signsUntil: Date | null
}

/** All secrets of an endpoint, its own first. */
export const openSecrets = (
  own: string,
  old: readonly OldSecret[],
  open: (sealed: string) => Promise<string>,
): Promise<readonly SigningSecret[]> =>
  Promise.all(
    [{ secret: own, signs_until: null }, ...old].map(async ({ secret, signs_until }) => ({
      secret: await open(secret),
      signsUntil: signs_until,
    })),
  )

/** Those that sign at that time. */
export const secretsAt = (secrets: readonly SigningSecret[], nowMs: number): readonly string[] =>
  secrets.flatMap(({ secret, signsUntil }) =>
    signsUntil === null || signsUntil.getTime() > nowMs ? secret : [],
  )

/**
 * Endpoints of an area whose deliveries are signed: secrets that are encrypted in its rows, rotation with a grace period
 * in which the secret before signs as well, and a cache that changes empty in every process.
 */
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import type { Endpoint } from "./deliveries.ts"
import { signingSecretHint } from "./signature.ts"

/** As many as Svix lets sign at a time. */
const OLD_SECRETS_MAX = 10
const CACHED_MAX = 20_000

/** What each row of an endpoint has. */
export interface SignedRow {
  readonly id: string
  readonly organization_id: string
  /** Encrypted. */
  readonly secret: string
}

type RowId = Pick<SignedRow, "id" | "organization_id">

/** The columns of a secret, as the row gets them. */
export interface SecretColumns {
  readonly secret: string
  /** Its end, to be shown. */
  readonly secret_hint: string
}

export interface OldSecret {
  readonly id: string
  /** Encrypted. */
  readonly secret: string
  readonly signs_until: Date
}

/** The earlier secrets of one endpoint in the area's schema. */
export interface OldSecretStore {
  /** The newest first; those whose time is over may still be among them. */
  list(): Promise<readonly OldSecret[]>
  insert(old: OldSecret): Promise<void>
  /** Those that signed until then at most; all of them without a time. */
  delete(until?: Date): Promise<void>
}

export interface SignedEndpoints<Row extends SignedRow> {
  /** Encrypts a secret for the row that gets it. */
  encrypt(row: RowId, secret: string): Promise<SecretColumns>
  decrypt(row: SignedRow): Promise<string>
  /** Encrypts the next secret; the one of the row signs on for so long. With no time at all no earlier one signs. */
  rotate(
    db: Db,
    row: SignedRow,
    next: { readonly secret: string; readonly graceSeconds: number; readonly now: Date },
  ): Promise<SecretColumns>
  /** Call it on the transaction that changes or deletes the row. */
  invalidate(db: Db, id: string): Promise<void>
  /** Where a row leads, active or not. */
  endpointOf(db: Db, row: Row): Promise<Endpoint>
  /** The active ones of these, from memory where possible. */
  resolve(ids: readonly string[]): Promise<ReadonlyMap<string, Endpoint>>
}

export interface SignedEndpointsNeeds<Row extends SignedRow> {
  readonly db: Db
  readonly changes: Changes
  readonly box: SecretBox
  readonly now: () => number
  /** Under which changes of a row are announced; with its id, also the context under which secrets are encrypted. */
  readonly topic: string
  /** Undefined where it is switched off, or its organization is deleted and with it the key of its secrets. */
  readonly findActive: (id: string) => Promise<Row | undefined>
  readonly oldSecrets: (db: Db, row: SignedRow) => OldSecretStore
  /** All of an endpoint but its secrets. It is cached. */
  readonly settingsOf: (row: Row) => Promise<Omit<Endpoint, "secrets">>
}

interface Cached {
  readonly id: string
  readonly settings: Omit<Endpoint, "secrets">
  /** Its own first; that one has no end. */
  readonly secrets: readonly { readonly secret: string; readonly signsUntil: Date | null }[]
}

/** Lets the secret that is about to be replaced sign on. */
const retire = async (store: OldSecretStore, secret: string, graceSeconds: number, now: Date) => {
  if (graceSeconds === 0) return store.delete()
  await store.delete(now)
  if ((await store.list()).length >= OLD_SECRETS_MAX) {
    const reason = `${OLD_SECRETS_MAX} earlier secrets still sign; end them with grace_period_seconds 0`
    throw fault("invalid_parameter", { reason })
  }
  await store.insert({ id: newId(), secret, signs_until: new Date(now.getTime() + graceSeconds * 1_000) })
}

export const createSignedEndpoints = <Row extends SignedRow>(
  needs: SignedEndpointsNeeds<Row>,
): SignedEndpoints<Row> => {
  const { db, changes, box, now, topic, findActive, oldSecrets, settingsOf } = needs

  const contextOf = (id: string): string => `${topic}:${id}`

  const decrypt = ({ organization_id, id, secret }: SignedRow) =>
    box.open(organization_id, contextOf(id), secret)

  const encrypt = async ({ organization_id, id }: RowId, secret: string): Promise<SecretColumns> => ({
    secret: await box.seal(organization_id, contextOf(id), secret),
    secret_hint: signingSecretHint(secret),
  })

  const read = async (on: Db, row: Row): Promise<Cached> => {
    const own = { secret: row.secret, signs_until: null }
    const all = [own, ...(await oldSecrets(on, row).list())]
    return {
      id: row.id,
      settings: await settingsOf(row),
      secrets: await Promise.all(
        all.map(async ({ secret, signs_until }) => ({
          secret: await decrypt({ id: row.id, organization_id: row.organization_id, secret }),
          signsUntil: signs_until,
        })),
      ),
    }
  }

  const toEndpoint = ({ settings, secrets }: Cached): Endpoint => {
    const nowMs = now()
    const signing = secrets.filter(({ signsUntil }) => signsUntil === null || signsUntil.getTime() > nowMs)
    return { ...settings, secrets: signing.map(({ secret }) => secret) }
  }

  const known = createPushedCache<Cached | undefined>({
    changes,
    topics: { [topic]: "one", organization: "all" },
    async read(id) {
      const row = await findActive(id)
      return row && read(db, row)
    },
    idOf: endpoint => endpoint?.id,
    entriesMax: CACHED_MAX,
  })

  return {
    encrypt,
    decrypt,
    async rotate(on, row, { secret, graceSeconds, now: at }) {
      await retire(oldSecrets(on, row), row.secret, graceSeconds, at)
      return encrypt(row, secret)
    },
    invalidate: (on, id) => changes.invalidate(on, topic, id),
    endpointOf: async (on, row) => toEndpoint(await read(on, row)),
    async resolve(ids) {
      const found = await Promise.all(ids.map(id => known.find(id)))
      return new Map(found.flatMap(one => (one ? [[one.id, toEndpoint(one)]] : [])))
    },
  }
}

/** Variables that every command of a workload gets. They hold credentials, so they are kept sealed. */
import type { SecretBox } from "../../core/secrets/secret-box.ts"

export type Env = Readonly<Record<string, string>>

/** What the sealed text belongs to. */
interface Place {
  readonly organizationId: string
  readonly kind: string
  readonly id: string
}

const contextOf = ({ kind, id }: Place) => `${kind}:${id}`

/** Null where there is nothing to keep. */
export const sealEnv = async (box: SecretBox, place: Place, env: Env): Promise<string | null> =>
  Object.keys(env).length === 0
    ? null
    : await box.seal(place.organizationId, contextOf(place), JSON.stringify(env))

export const openEnv = async (box: SecretBox, place: Place, sealed: string | null): Promise<Env> =>
  sealed === null ? {} : JSON.parse(await box.open(place.organizationId, contextOf(place), sealed))

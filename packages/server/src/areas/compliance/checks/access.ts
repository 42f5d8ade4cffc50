import type { Database } from "../../../kernel/db/database.ts"
import { type AccessStore, accessStore } from "../store.ts"
import type { Check, Finding } from "./check.ts"

const UNUSED_DAYS = 90
const DAY_MS = 86_400_000

type Ids = readonly { readonly id: string }[]

const ofKeys = (keys: Ids, none: string, some: (count: number) => string, remedy: string): Finding =>
  keys.length === 0
    ? { status: "pass", message: none }
    : {
        ...{ status: "warn", message: some(keys.length), remedy },
        failing: keys.map(({ id }) => ({ type: "api_key", id })),
      }

const keyCheck = (
  id: string,
  name: string,
  find: (store: AccessStore, organizationId: string, now: Date) => Promise<Ids>,
  words: { readonly none: string; readonly some: (count: number) => string; readonly remedy: string },
) => ({
  ...({ id, name, category: "access_control", severity: "medium" } as const),
  look: (database: Database) => async (organizationId: string, now: Date) =>
    ofKeys(await find(accessStore(database.db), organizationId, now), words.none, words.some, words.remedy),
})

const REVOKE = "Revoke or rotate them with `svc keys revoke` and `svc keys rotate`."

const keyChecks = [
  keyCheck("keys_expire", "Every key has an end", (store, id, now) => store.endlessKeys(id, now), {
    none: "Every secret key expires.",
    some: count => `${count} keys never expire.`,
    remedy: REVOKE,
  }),
  keyCheck(
    "keys_used",
    `Every key was used in the last ${UNUSED_DAYS} days`,
    (store, id, now) => store.unusedKeys(id, now, new Date(now.getTime() - UNUSED_DAYS * DAY_MS)),
    {
      none: "Every key was used lately or is new.",
      some: count => `${count} keys were not used for ${UNUSED_DAYS} days.`,
      remedy: REVOKE,
    },
  ),
  keyCheck("keys_scoped", "No key holds all scopes", (store, id, now) => store.fullAccessKeys(id, now), {
    none: "Every key has a list of scopes.",
    some: count => `${count} keys hold all scopes.`,
    remedy: "Make keys with the scopes that their programs need, and revoke those of type full_access.",
  }),
]

export const accessChecks = ({ database }: { readonly database: Database }): Check[] => [
  ...keyChecks.map(({ look, ...check }) => ({ ...check, look: look(database) })),
  {
    ...{ id: "owners", category: "access_control", severity: "low" },
    name: "A second person could take over",
    async look(organizationId) {
      const owners = await accessStore(database.db).countOwners(organizationId)
      return owners > 1
        ? { status: "pass", message: `${owners} people own the organization.` }
        : {
            ...{ status: "warn", message: "One person alone owns the organization." },
            remedy: "Invite a second owner with `svc organizations invite`.",
          }
    },
  },
]

/** Who asks and who answers. */
import { keyStore } from "../../core/keys/store.ts"
import { findInstallationOrganization } from "../../core/organizations/installation.ts"
import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { holds } from "../../kernel/scopes.ts"
import type { TicketVisibility } from "./ticket-store.ts"

export interface Person {
  readonly id: string
  readonly name: string
}

export interface Asker extends Person {
  readonly email: string | null
}

export const callerOf = ({ principal }: Call): Person => ({
  id: principal.user?.id ?? principal.id,
  name: principal.user?.name ?? principal.name,
})

/** A person is written to; for a key, whoever made it. */
export const askerOf = async (call: Call): Promise<Asker> => {
  const { db, organization, principal } = call
  if (principal.user) return { ...callerOf(call), email: principal.user.email }
  const creator = await db
    .selectFrom("core.api_keys as key")
    .innerJoin("core.members as member", join =>
      join
        .onRef("member.organization_id", "=", "key.organization_id")
        .onRef("member.user_id", "=", "key.created_by"),
    )
    .innerJoin("core.users as user", "user.id", "member.user_id")
    .where("key.organization_id", "=", organization.id)
    .where("key.id", "=", principal.id)
    .select("user.email")
    .executeTakeFirst()
  return { ...callerOf(call), email: creator?.email ?? null }
}

/**
 * What a caller sees of the organization's tickets and chats. A person sees all of them, and one who is limited to projects
 * those the person asked; a key those that it asked, or its maker where it speaks for one, and with `admin:full` all.
 */
export const reachOf = async ({
  db,
  organization,
  principal,
}: Call): Promise<NonNullable<TicketVisibility>> => {
  const organizationId = organization.id
  const seesAll = principal.session !== null || holds(principal, "admin:full")
  if (seesAll && principal.organizationReach) return { organizationId }
  if (principal.user) return { organizationId, askers: [principal.user.id] }
  return { organizationId, askers: await keyStore(db).versionsOf(organizationId, principal.id) }
}

const AGENT_ROLES = ["owner", "admin"]

export interface Operator {
  /** Refuses who does not belong to the organization that runs the platform; what they hold there the scope has told. */
  check(call: Call): Promise<void>
  findAgent(db: Db, userId: string): Promise<Person | undefined>
  /** In any case of letters. */
  findAgentByEmail(db: Db, email: string): Promise<Person | undefined>
}

/** `named`: the organization that the settings name; the first of the installation when they name none. */
export const createOperator = (named: string | undefined): Operator => {
  let known = named

  const organizationId = async (db: Db): Promise<string | undefined> => {
    known ??= await findInstallationOrganization(db)
    return known
  }

  const agents = async (db: Db) =>
    db
      .selectFrom("core.members as member")
      .innerJoin("core.users as user", "user.id", "member.user_id")
      .where("member.organization_id", "=", (await organizationId(db)) ?? null)
      .where("member.role", "in", AGENT_ROLES)
      .select(["user.id", "user.name"])

  return {
    async check({ db, organization }) {
      if (organization.id !== (await organizationId(db)))
        throw fault("role_insufficient", { roles: "an agent of the organization that runs the platform" })
    },
    findAgent: async (db, userId) => (await agents(db)).where("user.id", "=", userId).executeTakeFirst(),
    findAgentByEmail: async (db, email) =>
      (await agents(db))
        .where(({ fn }) => fn("lower", ["user.email"]), "=", email.toLowerCase())
        .executeTakeFirst(),
  }
}

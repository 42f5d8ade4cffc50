/** Valid inputs of the operations of the core, for the tests that hold for every operation. */
import { randomUUID } from "node:crypto"
import { PASSWORD, uniqueName } from "../../testing/platform.ts"
import { organizationId, type Sample, type SampleWorld, type Unsampled } from "../../testing/sample-world.ts"

const newKey = async ({ person }: SampleWorld) =>
  (await person.keys.create({ name: uniqueName(), type: "secret", scopes: ["kv:read", "kv:write"] })).id

const newProject = async ({ person }: SampleWorld) =>
  (await person.projects.create({ name: uniqueName() })).id

/** A member beside the owner. */
const newMember = async (world: SampleWorld) => {
  const { account } = await world.platform.person(world.tenant, "member")
  return { org_id: await organizationId(world), user_id: (await account.get()).id }
}

const newInvitation = async (world: SampleWorld) => {
  const org_id = await organizationId(world)
  const { id } = await world.person.organizations.invite({
    org_id,
    email: `${randomUUID()}@example.com`,
    role: "member",
  })
  return { org_id, id }
}

/** A high-risk request that waits for its approval. */
const newApproval = async ({ platform, tenant }: SampleWorld) => platform.pendingApproval(tenant)

export const samples = {
  "account.reauthenticate": async () => ({ password: PASSWORD }),
  "account.update": async () => ({ name: "Ada" }),
  "account.endSession": async ({ platform, person }) => {
    const { email } = await person.account.get()
    const signedIn = await platform.as("").account.login({ email, password: PASSWORD })
    return { id: "session" in signedIn ? signedIn.session.id : "" }
  },
  "account.enrollFactor": async () => ({ friendly_name: uniqueName() }),
  "account.deleteFactor": async ({ person }) => ({
    id: (await person.account.enrollFactor({ friendly_name: uniqueName() })).factor_id,
  }),
  "organizations.create": async () => ({ name: uniqueName() }),
  "organizations.get": async world => ({ org_id: await organizationId(world) }),
  "organizations.update": async world => ({ org_id: await organizationId(world), name: uniqueName() }),
  "organizations.setKeyPolicy": async world => ({
    org_id: await organizationId(world),
    max_lifetime_days: 3650,
  }),
  "organizations.listMembers": async world => ({ org_id: await organizationId(world) }),
  "organizations.updateMember": async world => ({ ...(await newMember(world)), role: "viewer" }),
  "organizations.removeMember": newMember,
  "organizations.memberKeys": newMember,
  "organizations.listInvitations": async world => ({ org_id: await organizationId(world) }),
  "organizations.invite": async world => ({
    org_id: await organizationId(world),
    email: `${randomUUID()}@example.com`,
    role: "member",
  }),
  "organizations.revokeInvitation": newInvitation,
  "projects.create": async () => ({ name: uniqueName() }),
  "projects.get": async world => ({ id: await newProject(world) }),
  "projects.update": async world => ({ id: await newProject(world), name: uniqueName() }),
  "projects.delete": async world => ({ id: await newProject(world) }),
  "keys.create": async () => ({ name: uniqueName(), type: "secret", scopes: ["kv:read"] }),
  "keys.get": async world => ({ id: await newKey(world) }),
  "keys.update": async world => ({ id: await newKey(world), name: uniqueName() }),
  "keys.rotate": async world => ({ id: await newKey(world), grace_period_seconds: 60 }),
  "keys.revoke": async world => ({ id: await newKey(world) }),
  "keys.delete": async world => ({ id: await newKey(world) }),
  "approvals.get": async world => ({ id: await newApproval(world) }),
  "approvals.approve": async world => ({ id: await newApproval(world) }),
  "approvals.reject": async world => ({ id: await newApproval(world) }),
} satisfies Readonly<Record<string, Sample>>

export const unsampled = {
  "account.signup": "public: there is no caller yet to remember an Idempotency-Key for",
  "account.verifyEmail": "public: there is no caller yet to remember an Idempotency-Key for",
  "account.resetPassword": "public: there is no caller yet to remember an Idempotency-Key for",
  "account.confirmPasswordReset": "public: there is no caller yet to remember an Idempotency-Key for",
  "account.login": "public: there is no caller yet to remember an Idempotency-Key for",
  "account.verifyFactor": "needs the code of an authenticator; core/accounts/mfa.test.ts has it",
  "account.challenge": "takes a sign-in that waits for a second factor; core/accounts/mfa.test.ts has it",
  "account.createRecoveryCodes": "needs a second factor; core/accounts/mfa.test.ts has it",
  "account.delete":
    "is refused while the person belongs to an organization; core/accounts/data.test.ts has it",
  "account.logout": "ends the session that the loop goes on with",
  "organizations.delete": "ends the tenant that the loop goes on with",
  "organizations.acceptInvitation": "needs a second person; organizations.test.ts has it",
  "organizations.setPlan": "is the operator's alone; core/organizations/plan.test.ts has it",
  "approvals.cancel": "is the requesting key's act; approvals.test.ts has it",
} satisfies Unsampled

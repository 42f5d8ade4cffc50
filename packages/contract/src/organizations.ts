import { area, T } from "./dsl.ts"
import { KeyTypeSchema, Plan, RoleSchema } from "./identity.ts"
import { KeyPolicy, keyPolicySpec } from "./organization-policies.ts"
import { described, Email, Id, Name, Nullable, OneOf, Page, PageQuery, pageQuery, Time } from "./types.ts"

const Organization = T.Object({
  id: Id,
  name: T.String(),
  slug: T.String({ description: "Short name for URLs, derived from the name; unique on this installation" }),
  plan: described(Plan, "Plan whose limits apply"),
  role: described(RoleSchema, "The caller's role in it"),
  key_policy: KeyPolicy,
  created_at: Time,
})

const Member = T.Object({
  user_id: Id,
  email: T.String(),
  name: T.String(),
  role: described(RoleSchema, "Role in the organization"),
  project_ids: Nullable(T.Array(Id, { description: "null: every project" })),
  joined_at: described(Time, "RFC 3339 time in UTC when the person became a member"),
})

const Invitation = T.Object({
  id: Id,
  email: T.String(),
  role: described(RoleSchema, "Role that the person gets on accepting"),
  project_ids: Nullable(T.Array(Id), {
    description: "Projects that the person gets access to; null for all projects",
  }),
  status: OneOf(["pending", "accepted", "revoked", "expired"], {
    description: "`pending` until it is accepted, revoked or expired",
  }),
  expires_at: Time,
  created_at: Time,
})

const memberKeyFields = {
  id: Id,
  name: T.String(),
  type: described(KeyTypeSchema, "Type of the key"),
  prefix: T.String({ description: "First characters of the secret, which identify the key" }),
  project_id: Nullable(Id, {
    description: "Project that the key is bound to; null for the whole organization",
  }),
}

const MemberKey = T.Object({
  ...memberKeyFields,
  scopes: T.Array(T.String(), { description: "Scopes that the key holds" }),
  last_used_at: Nullable(Time, {
    description: "RFC 3339 time in UTC, up to a minute behind; null if it was never used",
  }),
  expires_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if it never expires" }),
  can_be_handed_over: T.Boolean({
    description:
      "False for keys of type personal and oauth, which act for the person: these are always revoked",
  }),
})

/** Further effects of removing or restricting a membership. */
const departure = {
  keys: T.Array(
    T.Object({
      ...memberKeyFields,
      outcome: OneOf(["revoked", "handed_over"], { description: "What happened to the key" }),
      handed_to: Nullable(Id, {
        description: "User id of the member who got the key; null if it was revoked",
      }),
    }),
    { description: "Every key that was revoked or handed over" },
  ),
  withdrawn_invitations: T.Array(T.Object({ id: Id, email: T.String() }), {
    description: "Open invitations that were withdrawn because the member may no longer invite",
  }),
}

const keysChoice = {
  keys: T.Optional(
    OneOf(["revoke", "hand_over"], {
      default: "revoke",
      description: "What happens to the keys that the member created",
    }),
  ),
  keys_to: T.Optional(
    T.String({
      format: "uuid",
      description: "With `hand_over`: user id of the member who becomes their creator",
    }),
  ),
}

const KEYS_TEXT = [
  "`keys: revoke`, the default, revokes them at once, because their creator knows the secrets.",
  "`keys: hand_over` with `keys_to` makes another member their creator, who must be allowed to create such keys;",
  "the secrets do not change, so rotate those that the former creator may still know.",
  "Keys of type personal and oauth act for their person and are always revoked; publishable keys are not secret and stay.",
  "`GET …/members/{user_id}/keys` lists the affected keys beforehand.",
].join(" ")

const OrgId = T.Object({ org_id: Id })
const ProjectIds = Nullable(T.Array(Id, { maxItems: 200, uniqueItems: true }), {
  description: "Projects that the person may use; null for all projects",
})

export const organizations = area(
  "organizations",
  {
    title: "Organizations",
    summary: "Tenants, their members and invitations; managed by signed-in people",
    project: "none",
    belongs: "organization",
  },
  {
    list: {
      id: "listOrganizations",
      http: "GET /v1/organizations",
      summary: "List the organizations of the signed-in user",
      scope: "session",
      effect: "read",
      extension: true,
      query: PageQuery,
      replies: { 200: Page(Organization) },
    },
    create: {
      id: "createOrganization",
      http: "POST /v1/organizations",
      summary: "Create an organization on the Free plan and become its owner",
      scope: "session",
      effect: "write",
      extension: true,
      body: T.Object({ name: Name }),
      replies: { 201: Organization },
      faults: ["plan_limit_reached"],
      example: { name: "Acme" },
    },
    get: {
      id: "getOrganization",
      http: "GET /v1/organizations/{org_id}",
      summary: "Show an organization",
      scope: "session",
      effect: "read",
      extension: true,
      params: OrgId,
      replies: { 200: Organization },
      faults: ["organization_not_found"],
    },
    update: {
      id: "updateOrganization",
      http: "PATCH /v1/organizations/{org_id}",
      summary: "Rename an organization",
      scope: "session",
      effect: "write",
      extension: true,
      params: OrgId,
      body: T.Object({ name: Name }),
      replies: { 200: Organization },
      faults: ["organization_not_found", "role_insufficient"],
      example: { name: "Acme Labs" },
    },
    setKeyPolicy: { ...keyPolicySpec, replies: { 200: Organization } },
    setPlan: {
      id: "setOrganizationPlan",
      http: "PUT /v1/organizations/{org_id}/plan",
      summary: "Change the plan of an organization; for operators of the installation",
      description:
        "For owners and administrators of the first organization, which operates the installation, and its keys with `admin:full` and no project. The limits of the plan apply from the next request on, those of database disks within a minute. Nothing is deleted: what exceeds a smaller plan stays, and nothing can be added.",
      scope: "admin:full",
      effect: "write",
      belongs: "installation",
      risk: "high",
      idempotency: "natural",
      extension: true,
      params: OrgId,
      body: T.Object({ plan: Plan }),
      replies: { 200: T.Omit(Organization, ["role"]) },
      faults: ["organization_not_found", "role_insufficient"],
      example: { plan: "pro" },
    },
    delete: {
      id: "deleteOrganization",
      http: "DELETE /v1/organizations/{org_id}",
      summary: "Delete an organization; its keys are revoked at once",
      scope: "session",
      effect: "destroy",
      extension: true,
      params: OrgId,
      replies: { 204: null },
      faults: ["organization_not_found", "role_insufficient", "step_up_required"],
    },
    listMembers: {
      id: "listMembers",
      http: "GET /v1/organizations/{org_id}/members",
      summary: "List the members",
      scope: "session",
      effect: "read",
      extension: true,
      params: OrgId,
      query: PageQuery,
      replies: { 200: Page(Member) },
      faults: ["organization_not_found"],
    },
    updateMember: {
      id: "updateMember",
      http: "PATCH /v1/organizations/{org_id}/members/{user_id}",
      summary: "Change a member's role or projects",
      description: `Affects the keys that the member created and that can do more than the member now may. ${KEYS_TEXT}`,
      scope: "session",
      effect: "write",
      extension: true,
      params: T.Object({ org_id: Id, user_id: Id }),
      body: T.Object({
        role: T.Optional(described(RoleSchema, "New role")),
        project_ids: T.Optional(ProjectIds),
        ...keysChoice,
      }),
      replies: { 200: T.Object({ ...Member.properties, ...departure }) },
      faults: [
        "organization_not_found",
        "member_not_found",
        "role_insufficient",
        "last_owner",
        "project_not_in_organization",
        "missing_parameter",
        "invalid_parameter",
      ],
      example: { role: "viewer" },
    },
    removeMember: {
      id: "removeMember",
      http: "DELETE /v1/organizations/{org_id}/members/{user_id}",
      summary: "Remove a member, or leave",
      description: `Affects all keys that the member created. ${KEYS_TEXT} Only owners and administrators can hand keys over. Schedules, webhooks, functions and other resources that the member created belong to their project and stay; signed URLs, streams and terminals of the person end. Passwords of databases and ssh keys of computers are not tied to a person: reset those that the member knew.`,
      scope: "session",
      effect: "destroy",
      extension: true,
      params: T.Object({ org_id: Id, user_id: Id }),
      query: T.Object(keysChoice),
      replies: { 200: T.Object({ user_id: Id, ...departure }) },
      faults: [
        "organization_not_found",
        "member_not_found",
        "role_insufficient",
        "last_owner",
        "missing_parameter",
        "invalid_parameter",
      ],
    },
    memberKeys: {
      id: "listMemberKeys",
      http: "GET /v1/organizations/{org_id}/members/{user_id}/keys",
      summary: "List the keys that a removal or a change of a member would end or hand over",
      description:
        "Without `role` and `project_ids`: the keys that a removal affects, which are all active keys that the member created. With them: the keys that can do more than such a member may.",
      scope: "session",
      effect: "read",
      extension: true,
      params: T.Object({ org_id: Id, user_id: Id }),
      query: T.Object({
        ...pageQuery,
        role: T.Optional(described(RoleSchema, "Role that the member would get")),
        project_ids: T.Optional(
          T.String({
            pattern: "^[0-9a-fA-F-]{36}(,[0-9a-fA-F-]{36}){0,199}$",
            description: "Ids of the projects the member would keep, separated by commas",
          }),
        ),
      }),
      replies: { 200: Page(MemberKey) },
      faults: ["organization_not_found", "member_not_found", "role_insufficient", "invalid_parameter"],
    },
    listInvitations: {
      id: "listInvitations",
      http: "GET /v1/organizations/{org_id}/invitations",
      summary: "List the invitations",
      scope: "session",
      effect: "read",
      extension: true,
      params: OrgId,
      query: PageQuery,
      replies: { 200: Page(Invitation) },
      faults: ["organization_not_found", "role_insufficient"],
    },
    invite: {
      id: "createInvitation",
      http: "POST /v1/organizations/{org_id}/invitations",
      summary: "Invite a person; the token is shown once and lasts seven days",
      scope: "session",
      effect: "write",
      extension: true,
      params: OrgId,
      body: T.Object({
        email: Email,
        role: described(RoleSchema, "Role that the person gets on accepting"),
        project_ids: T.Optional(ProjectIds),
      }),
      replies: {
        201: T.Object({
          ...Invitation.properties,
          token: T.Optional(T.String({ description: "Shown only in this reply" })),
        }),
      },
      secrets: ["token"],
      faults: [
        "invalid_parameter",
        "organization_not_found",
        "role_insufficient",
        "member_exists",
        "plan_limit_reached",
        "project_not_in_organization",
      ],
      example: { email: "grace@example.com", role: "member" },
    },
    revokeInvitation: {
      id: "revokeInvitation",
      http: "DELETE /v1/organizations/{org_id}/invitations/{id}",
      summary: "Withdraw an invitation",
      scope: "session",
      effect: "destroy",
      extension: true,
      params: T.Object({ org_id: Id, id: Id }),
      replies: { 204: null },
      faults: ["organization_not_found", "invitation_not_found", "role_insufficient"],
    },
    acceptInvitation: {
      id: "acceptInvitation",
      http: "POST /v1/invitations/{token}/accept",
      summary: "Join the organization that sent the invitation",
      scope: "session",
      effect: "write",
      extension: true,
      params: T.Object({
        token: T.String({ minLength: 20, maxLength: 100, description: "Token from the invitation mail" }),
      }),
      replies: { 200: Organization },
      faults: ["invitation_not_found", "member_exists", "plan_limit_reached"],
    },
  },
)

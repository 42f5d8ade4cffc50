/** What an organization demands of its keys. */
import { type OperationSpec, T } from "./dsl.ts"
import { Id, Nullable, OneOf } from "./types.ts"

const DAYS_MAX = 3650
const ADDRESSES_MAX = 100

export const KEY_RULES = ["max_lifetime_days", "allowed_addresses"] as const

/** Rules that a key was found to break. */
export const BrokenRules = T.Array(OneOf(KEY_RULES), {
  description:
    "Rules of the organization's key policy that the key does not meet, because it is older than they are. It works all the same; rotate or restrict it",
})

const days = { minimum: 1, maximum: DAYS_MAX }
const LIFETIME_TEXT =
  "Days that a key may live at most; a key made without an expiry gets no more. null: keys may live as long as they are asked to"
const ADDRESSES_TEXT =
  "Addresses and CIDR ranges, within which those of every key must be; a key made without any gets these. Empty: any"
const READ_ONLY_TEXT = "True if keys may only read unless `read_only` is sent as false"
const APPROVAL_TEXT = "True if keys wait for approvals unless `require_approval` is sent as false"

export const KeyPolicy = T.Object(
  {
    max_lifetime_days: Nullable(T.Integer(days), { description: LIFETIME_TEXT }),
    allowed_addresses: T.Array(T.String(), { description: ADDRESSES_TEXT }),
    read_only: T.Boolean({ description: READ_ONLY_TEXT }),
    require_approval: T.Boolean({ description: APPROVAL_TEXT }),
  },
  {
    description:
      "What the organization demands of its keys. Publishable keys, which are no secret, are exempt",
  },
)

export const keyPolicySpec = {
  id: "setOrganizationKeyPolicy",
  http: "PUT /v1/organizations/{org_id}/key-policy",
  summary: "Set what the organization demands of its keys",
  description:
    "For owners, with a sign-in in the last 15 minutes. The policy is replaced whole: what is left out is not demanded. It holds for keys that are created, rotated or changed from now on. Keys that exist go on working; those that do not meet it say so in `policy_violations`.",
  scope: "session",
  effect: "write",
  idempotency: "natural",
  extension: true,
  params: T.Object({ org_id: Id }),
  body: T.Object({
    max_lifetime_days: T.Optional(Nullable(T.Integer(days), { description: LIFETIME_TEXT })),
    allowed_addresses: T.Optional(
      T.Array(T.String({ minLength: 2, maxLength: 49 }), {
        maxItems: ADDRESSES_MAX,
        description: ADDRESSES_TEXT,
      }),
    ),
    read_only: T.Optional(T.Boolean({ default: false, description: READ_ONLY_TEXT })),
    require_approval: T.Optional(T.Boolean({ default: false, description: APPROVAL_TEXT })),
  }),
  faults: ["organization_not_found", "role_insufficient", "step_up_required", "invalid_cidr"],
  example: { max_lifetime_days: 30, allowed_addresses: ["203.0.113.0/24"] },
} as const satisfies Omit<OperationSpec, "replies">

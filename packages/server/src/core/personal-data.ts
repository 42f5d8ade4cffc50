import type { PersonalData } from "../kernel/personal-data.ts"

const ACCOUNT = "the account is the person's own, and may be in other organizations"

/** What the tables of the core hold of people. */
export const personalData: PersonalData = {
  tables: [
    {
      table: "core.invitations",
      tenant: { organization: "organization_id" },
      match: { emails: ["email"] },
      erasure: "delete",
    },
    {
      table: "core.members",
      tenant: { organization: "organization_id" },
      match: { ids: ["user_id"] },
      erasure: {
        keep: "a membership is ended by removing the member, which says what becomes of their keys",
      },
    },
    {
      table: "core.api_keys",
      tenant: { organization: "organization_id" },
      match: { ids: ["created_by"] },
      erasure: { keep: "keys name their creator by id; the keys are the organization's" },
    },
    {
      table: "core.approvals",
      tenant: { organization: "organization_id" },
      match: { ids: ["decided_by"] },
      omits: ["sealed_request", "result_body"],
      erasure: { keep: "who decided is named by id, as evidence" },
    },
  ],
  kept: [
    { table: "core.users", reason: ACCOUNT },
    { table: "core.sessions", reason: ACCOUNT },
    { table: "core.login_sources", reason: ACCOUNT },
    { table: "core.account_factors", reason: ACCOUNT },
    { table: "core.account_recovery_codes", reason: ACCOUNT },
    { table: "core.account_waiting", reason: ACCOUNT },
    { table: "core.signups", reason: "belong to no organization, and end by themselves after some hours" },
    { table: "core.password_resets", reason: "belong to no organization, and end by themselves after a day" },
    { table: "core.login_failures", reason: "hold a hash of the address, and end by themselves" },
    { table: "kernel.replays", reason: "replies to repeated requests, deleted after a day" },
    { table: "core.audit_events", reason: "evidence: events name people by id, and cannot be changed" },
  ],
}

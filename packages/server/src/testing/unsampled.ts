import type { OperationName } from "@svc/sdk"

/** Mutations that the loops cannot repeat, and why. */
export const unsampled: { readonly [Name in OperationName]?: string } = {
  "integrations.putCredentials":
    "names a provider that all tenants share; areas/integrations/accounts.test.ts has it",
  "integrations.deleteCredentials":
    "names a provider that all tenants share; areas/integrations/accounts.test.ts has it",
  "integrations.linkInstallation": "asks GitHub; areas/integrations/accounts.test.ts has it",
  "integrations.unlinkInstallation": "needs what GitHub shows; areas/integrations/accounts.test.ts has it",
  "integrations.createInstallationToken": "asks GitHub; areas/integrations/accounts.test.ts has it",
  "integrations.receive": "public: there is no caller yet to remember an Idempotency-Key for",
  "account.signup": "public: there is no caller yet to remember an Idempotency-Key for",
  "account.verifyEmail": "public: there is no caller yet to remember an Idempotency-Key for",
  "account.login": "public: there is no caller yet to remember an Idempotency-Key for",
  "account.logout": "ends the session that the loop goes on with",
  "email.unsubscribe": "public: areas/email/tracking/tracking.test.ts has it",
  "functions.httpPost":
    "answers with a stream that no replay record holds; areas/functions/urls.test.ts has it",
  "functions.httpPut":
    "answers with a stream that no replay record holds; areas/functions/urls.test.ts has it",
  "functions.httpPatch":
    "answers with a stream that no replay record holds; areas/functions/urls.test.ts has it",
  "functions.httpDelete":
    "answers with a stream that no replay record holds; areas/functions/urls.test.ts has it",
  "functions.publicPost": "public: there is no caller yet to remember an Idempotency-Key for",
  "functions.publicPut": "public: there is no caller yet to remember an Idempotency-Key for",
  "functions.publicPatch": "public: there is no caller yet to remember an Idempotency-Key for",
  "functions.publicDelete": "public: there is no caller yet to remember an Idempotency-Key for",
  "storage.putSigned": "public: there is no caller yet to remember an Idempotency-Key for",
  "storage.createUpload": "is asked for in headers; areas/storage/resumable.test.ts has it",
  "storage.patchUpload": "is asked for in headers; areas/storage/resumable.test.ts has it",
  "storage.deleteUpload": "is asked for in headers; areas/storage/resumable.test.ts has it",
  "sandboxes.streamCommand":
    "answers with a stream, which is not replayed; areas/sandboxes/streams.test.ts has it",
  "sandboxes.terminal":
    "answers with a connection; areas/sandboxes/terminal-access.test.ts has who gets one, and the audit entry",
  "computers.terminal":
    "answers with a connection; areas/computers/terminals.test.ts has who gets one, and the audit entry",
  "sandboxes.snapshot": "always 501; areas/sandboxes/persistent.test.ts has it",
  "computers.getOrCreate":
    "names no machine by id: another tenant makes its own; areas/computers/computers.test.ts has it",
  "organizations.delete": "ends the tenant that the loop goes on with",
  "organizations.acceptInvitation": "needs a second person; organizations.test.ts has it",
  "organizations.setPlan": "is the operator's alone; core/organizations/plan.test.ts has it",
  "support.agentUpdateTicket": "is the operator's alone; areas/support/agents.test.ts has it",
  "support.agentAddComment": "is the operator's alone; areas/support/agents.test.ts has it",
  "support.agentUpdateChat": "is the operator's alone; areas/support/agents.test.ts has it",
  "support.agentReadChat": "is the operator's alone; areas/support/agents.test.ts has it",
  "support.agentPostMessage": "is the operator's alone; areas/support/agents.test.ts has it",
  "approvals.cancel": "is the requesting key's act; approvals.test.ts has it",
}

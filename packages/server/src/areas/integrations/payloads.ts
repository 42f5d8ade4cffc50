import type { areas, Output } from "@svc/contract"
import { toIso } from "../../kernel/to-iso.ts"
import type { EventRow } from "./event-store.ts"
import type { CredentialsRow, InstallationRow, IntegrationRow, IntegrationWithEvent } from "./store.ts"

type Specs = typeof areas.integrations.specs
type IntegrationPayload = Output<Specs["get"]>
type EventPayload = Output<Specs["replayEvent"]>
type CredentialsPayload = Output<Specs["getCredentials"]>
type InstallationPayload = Output<Specs["linkInstallation"]>

const lastEvent = (row: Partial<IntegrationWithEvent>): IntegrationPayload["last_event"] => {
  const { event_type, event_ref = null, event_commit = null, event_build_id = null } = row
  if (!event_type) return null
  type Type = NonNullable<IntegrationPayload["last_event"]>["type"]
  return { type: event_type as Type, ref: event_ref, commit: event_commit, build_id: event_build_id }
}

const webhookUrl = (baseUrl: string, id: string): string => `${baseUrl}/hooks/vcs/${id}`

export const toIntegration = (
  row: IntegrationRow & Partial<IntegrationWithEvent>,
  baseUrl: string,
): IntegrationPayload => ({
  ...{ id: row.id, project_id: row.project_id, repository: row.repository },
  provider: row.provider as IntegrationPayload["provider"],
  ...{ installation_id: row.installation_id, branch_filter: row.branch_filter },
  path_filter: { include: row.path_include, exclude: row.path_exclude },
  ...{ auto_build: row.auto_build, auto_deploy: row.auto_deploy, preview: row.preview },
  build: row.build as IntegrationPayload["build"],
  deploy_target: row.deploy_target as IntegrationPayload["deploy_target"],
  status: row.status as IntegrationPayload["status"],
  ...{ webhook_url: webhookUrl(baseUrl, row.id), webhook_secret_hint: row.secret_hint },
  ...{ last_event_at: toIso(row.last_event_at), last_event: lastEvent(row) },
  ...{ last_polled_at: toIso(row.polled_at), last_error: row.last_error },
  ...{ created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() },
})

export const toEvent = (row: EventRow): EventPayload => ({
  ...{ id: row.id, integration_id: row.integration_id },
  source: row.source as EventPayload["source"],
  type: row.type as EventPayload["type"],
  ...{ provider_event: row.provider_event, delivery_id: row.delivery_id, repository: row.repository },
  ...{ ref: row.ref, commit: row.commit, commit_before: row.commit_before },
  ...{ message: row.message, author: row.author },
  pull_request: row.pull_request as EventPayload["pull_request"],
  paths: row.paths as EventPayload["paths"],
  status: row.status as EventPayload["status"],
  ...{ reason: row.reason, build_id: row.build_id },
  ...{ received_at: row.received_at.toISOString(), processed_at: toIso(row.processed_at) },
})

export const toCredentials = (row: CredentialsRow): CredentialsPayload => ({
  provider: row.provider as CredentialsPayload["provider"],
  kind: row.kind as CredentialsPayload["kind"],
  ...{ base_url: row.base_url, username: row.username, app_id: row.app_id, hint: row.hint },
  ...{ created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() },
})

export const toInstallation = (row: InstallationRow): InstallationPayload => ({
  ...{ installation_id: row.installation_id, provider: "github" },
  account: { login: row.account_login, type: row.account_type },
  repository_selection: row.repository_selection,
  permissions: row.permissions as Record<string, string>,
  ...{ suspended_at: toIso(row.suspended_at), html_url: row.html_url },
  created_at: row.created_at.toISOString(),
})

import { area, T } from "./dsl.ts"
import { described, Id, Nullable, Page, PageQuery, Time } from "./types.ts"

const ConnectedApp = T.Object({
  name: T.String({ description: "Name of the connection, unique in the organization" }),
  client_id: T.String({ description: "Id of the client" }),
  scopes: T.Array(T.String(), { description: "Scopes that were granted" }),
  project_id: described(Id, "Project that it is connected to"),
  granted_by: Nullable(T.Object({ id: Id, email: T.String() }), {
    description: "Person who consented; null if that person is gone",
  }),
  granted_at: Time,
  last_used_at: Nullable(Time, {
    description: "RFC 3339 time in UTC, up to a minute behind; null if it was never used",
  }),
  expires_at: Time,
})

export const connectedApps = area(
  "connectedApps",
  {
    title: "Connected apps",
    summary: "Apps that people of the organization connected by OAuth: listed, and disconnected by name",
    project: "none",
    belongs: "organization",
  },
  {
    list: {
      id: "listConnectedApps",
      http: "GET /v1/connected-apps",
      summary: "List the connected apps",
      description: "Owners and administrators see all, others their own.",
      scope: "session",
      effect: "read",
      extension: true,
      query: PageQuery,
      replies: { 200: Page(ConnectedApp) },
    },
    disconnect: {
      id: "disconnectApp",
      http: "DELETE /v1/connected-apps/{name}",
      summary: "Disconnect an app: its tokens end at once",
      scope: "session",
      effect: "destroy",
      extension: true,
      action: "oauth_app_revoked",
      params: T.Object({ name: T.String({ minLength: 1, maxLength: 80 }) }),
      replies: { 204: null },
      faults: ["connected_app_not_found"],
    },
  },
)

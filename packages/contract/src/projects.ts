import { area, T } from "./dsl.ts"
import { Id, Name, Nullable, Page, PageQuery, Time } from "./types.ts"

const Project = T.Object({
  id: Id,
  organization_id: Id,
  name: T.String(),
  slug: T.String({ description: "Short name for URLs, derived from the name; unique in the organization" }),
  region: T.String({ description: "Region of the installation" }),
  publishable_key_id: Nullable(Id, {
    description: "Id of the project's publishable key; null if it has none",
  }),
  created_at: Time,
})

const ProjectId = T.Object({ id: Id })

export const projects = area(
  "projects",
  {
    title: "Projects",
    summary: "A project holds resources; most keys are bound to one",
    project: "none",
    belongs: "project",
  },
  {
    list: {
      id: "listProjects",
      http: "GET /v1/projects",
      summary: "List the projects that the caller can see",
      scope: "any",
      effect: "read",
      extension: true,
      query: PageQuery,
      replies: { 200: Page(Project) },
    },
    create: {
      id: "createProject",
      http: "POST /v1/projects",
      summary: "Create a project",
      scope: "session",
      effect: "write",
      belongs: "organization",
      extension: true,
      body: T.Object({ name: Name }),
      replies: { 201: Project },
      faults: ["plan_limit_reached", "role_insufficient", "name_taken"],
      example: { name: "web" },
    },
    get: {
      id: "getProject",
      http: "GET /v1/projects/{id}",
      summary: "Show a project",
      scope: "any",
      effect: "read",
      extension: true,
      params: ProjectId,
      replies: { 200: Project },
      faults: ["project_not_found"],
    },
    update: {
      id: "updateProject",
      http: "PATCH /v1/projects/{id}",
      summary: "Rename a project",
      scope: "session",
      effect: "write",
      extension: true,
      params: ProjectId,
      body: T.Object({ name: Name }),
      replies: { 200: Project },
      faults: ["project_not_found", "role_insufficient", "name_taken"],
      example: { name: "web-next" },
    },
    delete: {
      id: "deleteProject",
      http: "DELETE /v1/projects/{id}",
      summary: "Delete a project; the keys bound to it are revoked",
      scope: "session",
      effect: "destroy",
      extension: true,
      params: ProjectId,
      replies: { 204: null },
      faults: ["project_not_found", "role_insufficient", "step_up_required"],
    },
  },
)

/** Builds of images from repositories and uploaded folders (specification 4.12). */
import {
  BUILD_LOG_LINES_MAX,
  BUILD_UPLOAD_BYTES_MAX,
  BUILDS_KEPT_DAYS,
  Build,
  BuildId,
  BuildLogLine,
  buildAliases,
  buildStatuses,
  createBuildFields,
  uploadBuildQuery,
} from "./builds-fields.ts"
import { area, MIB, T } from "./dsl.ts"
import { AnyCase, Nullable, OneOf, Page, pageQuery } from "./types.ts"

const REFUSED = ["invalid_parameter", "plan_limit_reached"] as const

export const builds = area(
  "builds",
  {
    title: "Builds",
    summary: "Images built from a repository or a folder, by a Dockerfile or without one",
    project: "required",
    belongs: "project",
  },
  {
    list: {
      id: "listBuilds",
      http: "GET /v1/build",
      summary: "List the builds of the project, newest first",
      scope: "build:read",
      effect: "read",
      query: T.Object({ ...pageQuery, status: T.Optional(AnyCase(buildStatuses)) }),
      replies: { 200: Page(Build) },
    },
    create: {
      id: "createBuild",
      http: "POST /v1/build",
      summary: "Build an image from a git repository",
      description:
        "Takes the newest commit of a branch, or the one that is named, without its history. Submodules stay empty, and files of " +
        "Git LFS are pointers. The reply is the queued build; a repository that cannot be fetched makes it fail.",
      scope: "build:write",
      effect: "write",
      meters: ["build_minutes"],
      body: T.Object(createBuildFields),
      aliases: buildAliases,
      replies: { 200: Build },
      faults: [...REFUSED, "invalid_build_args"],
      example: {
        repository: "https://github.com/octocat/Hello-World",
        branch: "master",
        image_tag: "hello:1",
      },
    },
    upload: {
      id: "uploadBuild",
      http: "POST /v1/build/upload",
      summary: "Build an image from an uploaded folder",
      description:
        `The body is a gzipped tar of the folder, at most ${BUILD_UPLOAD_BYTES_MAX / MIB} MiB, as \`tar -czf\` makes it; ` +
        "multipart forms are refused. The reply is the queued build.",
      scope: "build:write",
      effect: "write",
      transaction: "none",
      meters: ["build_minutes"],
      content: { request: "gzip" },
      query: T.Object(uploadBuildQuery),
      replies: { 201: Build },
      faults: [
        ...REFUSED,
        ...(["upload_empty", "upload_not_gzip", "upload_too_large", "invalid_build_args"] as const),
      ],
    },
    get: {
      id: "getBuild",
      http: "GET /v1/build/{id}",
      summary: "Show a build",
      description: `Builds are kept for ${BUILDS_KEPT_DAYS} days; their images stay.`,
      scope: "build:read",
      effect: "read",
      params: BuildId,
      replies: { 200: Build },
      faults: ["build_not_found"],
    },
    logs: {
      id: "getBuildLogs",
      http: "GET /v1/build/{id}/logs",
      summary: "Read what a build says",
      description:
        `The oldest lines first; \`next_cursor\` asks for those after them, also of a build that goes on. At most ` +
        `${BUILD_LOG_LINES_MAX.toLocaleString("en")} lines are kept of one build.`,
      scope: "build:read",
      effect: "read",
      params: BuildId,
      query: T.Object({
        limit: T.Optional(
          T.Integer({ minimum: 1, maximum: 1_000, default: 500, description: "Largest number of lines" }),
        ),
        cursor: T.Optional(
          T.String({ pattern: "^[0-9]{1,15}$", description: "`next_cursor` of the page before" }),
        ),
      }),
      replies: {
        200: T.Object({
          logs: T.Array(BuildLogLine, { description: "Lines of the page" }),
          next_cursor: Nullable(T.String(), { description: "Asks for later lines; null before the first" }),
          status: OneOf(buildStatuses, { description: "Of the build: no line follows a final one" }),
        }),
      },
      faults: ["build_not_found"],
    },
    cancel: {
      id: "cancelBuild",
      http: "POST /v1/build/{id}/cancel",
      summary: "Cancel a build",
      description: "One that is over stays as it is.",
      scope: "build:write",
      effect: "write",
      idempotency: "natural",
      params: BuildId,
      replies: { 200: Build },
      faults: ["build_not_found"],
    },
  },
)

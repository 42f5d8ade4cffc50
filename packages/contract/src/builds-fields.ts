/** Shapes of the builds area. */
import { T } from "./dsl.ts"
import { Dictionary, described, Id, Nullable, OneOf, Time } from "./types.ts"

export const buildStatuses = ["QUEUED", "WORKING", "SUCCESS", "FAILURE", "TIMEOUT", "CANCELLED"] as const
export type BuildStatus = (typeof buildStatuses)[number]
export const buildSources = ["git", "upload"] as const
export const buildLogStreams = ["stdout", "stderr", "system"] as const

/** Largest archive of an upload, compressed. */
export const BUILD_UPLOAD_BYTES_MAX = 512 * 1024 ** 2
export const BUILD_TIMEOUT_SECONDS_DEFAULT = 600
export const BUILD_TIMEOUT_SECONDS_MAX = 3_600
export const BUILD_ARGS_MAX = 64
export const BUILD_ARGS_BYTES_MAX = 32 * 1024
/** In a URL, which has to fit into the headers of a request. */
const BUILD_ARGS_QUERY_MAX = 8 * 1024
/** Builds of a project that are queued or under way. */
export const BUILDS_UNFINISHED_MAX = 100
/** Builds and their lines are kept so long. */
export const BUILDS_KEPT_DAYS = 30
/** Lines that are kept of one build. */
export const BUILD_LOG_LINES_MAX = 20_000

const PART = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*"

const ImageTag = T.String({
  minLength: 1,
  maxLength: 200,
  pattern: `^${PART}(?:/${PART})*(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?$`,
  description:
    "Repository of the project that gets the image, and its tag: `web:1.4`; `latest` without a tag. Generated when left out",
})
const relative = (description: string) => T.String({ minLength: 1, maxLength: 1_024, description })
const DockerfilePath = relative(
  "Path of the Dockerfile in the context. Left out: `Dockerfile`, or one is written for Node, Python, Go, static files or a Procfile",
)
const TimeoutSeconds = T.Integer({
  minimum: 1,
  maximum: BUILD_TIMEOUT_SECONDS_MAX,
  default: BUILD_TIMEOUT_SECONDS_DEFAULT,
  description: "The build ends as `TIMEOUT` after this time of work",
})
const Target = T.String({
  minLength: 1,
  maxLength: 128,
  description: "Stage to build; the last when left out",
})
const Platform = T.String({
  minLength: 1,
  maxLength: 64,
  description: "`linux/amd64` or `linux/arm64`; only that of the server can be built",
})

export const uploadBuildQuery = {
  image_tag: T.Optional(ImageTag),
  dockerfile_path: T.Optional(DockerfilePath),
  build_args: T.Optional(
    T.String({
      maxLength: BUILD_ARGS_QUERY_MAX,
      description: "Values of `ARG` instructions: a JSON object of strings, encoded for a URL",
    }),
  ),
  timeout_seconds: T.Optional(TimeoutSeconds),
  target: T.Optional(Target),
  platform: T.Optional(Platform),
  no_cache: T.Optional(T.Boolean({ description: "Runs every step, whatever was built before" })),
}

const Ref = (description: string) =>
  T.String({ minLength: 1, maxLength: 255, pattern: "^[^\\x00-\\x20~^:?*\\[\\\\]+$", description })

export const createBuildFields = {
  repository: T.String({
    minLength: 1,
    maxLength: 2_048,
    description: "HTTPS URL of a repository at any git server, or `owner/name` at GitHub",
  }),
  branch: T.Optional(Ref("Branch, tag or whole ref; the repository's default branch when left out")),
  commit_sha: T.Optional(
    T.String({
      pattern: "^[0-9a-f]{40}$",
      description: "Commit to build, in full; the newest when left out",
    }),
  ),
  context_path: T.Optional(relative("Folder of the repository that is the context; all of it when left out")),
  auth_token: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 4_096,
      pattern: "^[!-~]+$",
      description:
        "Opens a private repository: a token, or `user:token` where the server wants a certain user. Kept encrypted until the build is over, and never shown",
    }),
  ),
  image_tag: T.Optional(ImageTag),
  dockerfile_path: T.Optional(DockerfilePath),
  build_args: T.Optional(
    Dictionary(T.String(), T.String({ maxLength: BUILD_ARGS_BYTES_MAX }), {
      description: `Values of \`ARG\` instructions, at most ${BUILD_ARGS_MAX}`,
    }),
  ),
  timeout_seconds: T.Optional(TimeoutSeconds),
  target: T.Optional(Target),
  platform: T.Optional(Platform),
  no_cache: T.Optional(T.Boolean({ description: "Runs every step, whatever was built before" })),
}

export const buildAliases = { repo_url: "repository", ref: "branch" } as const

export const BuildId = T.Object({ id: Id })

export const Build = T.Object({
  id: Id,
  status: OneOf(buildStatuses, {
    description: "`QUEUED` and `WORKING` go on; the others are final",
  }),
  status_reason: Nullable(T.String(), { description: "Why the build did not succeed; null otherwise" }),
  source: OneOf(buildSources, { description: "Where the context comes from" }),
  repository: Nullable(T.String(), { description: "URL of the repository; null for an upload" }),
  branch: Nullable(T.String(), {
    description: "As asked for, or the default branch once it is known; null for an upload",
  }),
  commit_sha: Nullable(T.String(), { description: "Commit that is built, once it is known" }),
  context_path: Nullable(T.String(), { description: "Folder of the repository; null for all of it" }),
  image_tag: T.String({ description: "Repository of the project and tag that the image gets" }),
  image_ref: Nullable(T.String(), {
    description: "What to pull and to deploy, with the digest; null until the build has succeeded",
  }),
  image_digest: Nullable(T.String(), { description: "Digest of the image's manifest; null until then" }),
  image_size_bytes: Nullable(T.Integer(), { description: "Compressed size of its layers; null until then" }),
  dockerfile_path: Nullable(T.String(), {
    description: "As asked for; null where it is to be found or written",
  }),
  build_args: Dictionary(T.String(), T.String(), {
    description: "As given; values of those that are named as secrets are `***`",
  }),
  target: Nullable(T.String(), { description: "Stage that is built; null for the last" }),
  platform: T.String({ description: "What the image is for" }),
  timeout_seconds: T.Integer({ description: "Longest time of work" }),
  cached_steps: T.Integer({ description: "Steps that were there from earlier builds" }),
  total_steps: T.Integer({ description: "Steps done so far" }),
  created_at: Time,
  updated_at: Time,
  started_at: Nullable(described(Time, "RFC 3339 time in UTC; null while it is queued")),
  finished_at: Nullable(described(Time, "RFC 3339 time in UTC; null until it is over")),
  duration_ms: Nullable(T.Integer(), { description: "Time of work; null until it is over" }),
  project_id: Id,
})

export const BuildLogLine = T.Object({
  timestamp: Time,
  step: T.Integer({ description: "Number of the step from 1; 0 for what belongs to none" }),
  stream: OneOf(buildLogStreams, { description: "`system`: said by the platform" }),
  message: T.String({ description: "One line; secrets of the build are masked" }),
})

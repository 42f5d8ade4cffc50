/** Shapes of the integrations area. */
import { T } from "./dsl.ts"
import { Dictionary, FIELD_FAULT, Id, Nullable, OneOf, Time } from "./types.ts"

export const gitProviders = ["github", "gitlab", "bitbucket", "gitea"] as const
export const integrationStatuses = ["pending", "active", "paused", "error"] as const
export const gitEventTypes = ["push", "tag", "pull_request", "ping", "other"] as const
export const gitEventStatuses = ["received", "processed", "ignored", "failed"] as const

/** How long the secret before a new one is still accepted, unless a rotation says otherwise. */
export const INTEGRATION_SECRET_GRACE_SECONDS_DEFAULT = 86_400
const GRACE_SECONDS_MAX = 7 * 86_400

/** Globs of one filter. */
const FILTER_MAX = 50
const BUILD_ARGS_MAX = 64

const Glob = T.String({ minLength: 1, maxLength: 255 })

const BranchFilter = T.Array(Glob, {
  maxItems: FILTER_MAX,
  description:
    "Branches that count, as globs: `*` is anything but `/`, `**` anything, `?` one character but `/`. None: every " +
    "branch. One that begins with `refs/tags/` is for tags, which count only if it matches.",
})

const PathFilter = T.Object({
  include: T.Optional(T.Array(Glob, { maxItems: FILTER_MAX, description: "None: every path" })),
  exclude: T.Optional(T.Array(Glob, { maxItems: FILTER_MAX })),
})

const Build = T.Object({
  dockerfile_path: T.Optional(T.String({ minLength: 1, maxLength: 255 })),
  build_args: T.Optional(
    Dictionary(T.String({ minLength: 1, maxLength: 128 }), T.String({ maxLength: 4096 }), {
      maxProperties: BUILD_ARGS_MAX,
    }),
  ),
})

const DeployTarget = T.Object({
  type: OneOf(["run_service", "deployment", "function"]),
  id: T.String({ minLength: 1, maxLength: 64 }),
})

export const InstallationId = T.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

export const Provider = T.Unsafe<(typeof gitProviders)[number]>(
  T.String({ enum: [...gitProviders], [FIELD_FAULT]: "invalid_provider" }),
)

export const WebhookSecret = T.String({
  minLength: 16,
  maxLength: 255,
  description: "Where the provider makes the secret itself; made here when left out",
})

const changeable = {
  branch_filter: T.Optional(BranchFilter),
  auto_build: T.Optional(T.Boolean({ description: "Pushes that pass the filters are built. Default: true" })),
  auto_deploy: T.Optional(T.Boolean({ description: "What was built is deployed. Default: false" })),
  preview: T.Optional(T.Boolean({ description: "Pull requests are built too. Default: false" })),
  path_filter: T.Optional(PathFilter),
  build: T.Optional(Build),
  deploy_target: T.Optional(Nullable(DeployTarget)),
}

export const CreateBody = T.Object({
  provider: Provider,
  repository: T.String({
    minLength: 3,
    maxLength: 255,
    description: "`owner/name`; at GitLab with all groups",
  }),
  installation_id: T.Optional(InstallationId),
  webhook_secret: T.Optional(WebhookSecret),
  ...changeable,
})

export const UpdateBody = T.Object({ ...changeable, status: T.Optional(OneOf(["active", "paused"])) })

export const RotateBody = T.Object({
  webhook_secret: T.Optional(WebhookSecret),
  grace_period_seconds: T.Optional(
    T.Integer({
      minimum: 0,
      maximum: GRACE_SECONDS_MAX,
      default: INTEGRATION_SECRET_GRACE_SECONDS_DEFAULT,
    }),
  ),
})

const integrationFields = {
  id: Id,
  project_id: Id,
  provider: OneOf(gitProviders),
  repository: T.String(),
  installation_id: Nullable(T.Integer()),
  branch_filter: T.Array(T.String()),
  path_filter: T.Object({ include: T.Array(T.String()), exclude: T.Array(T.String()) }),
  auto_build: T.Boolean(),
  auto_deploy: T.Boolean(),
  preview: T.Boolean(),
  build: Build,
  deploy_target: Nullable(DeployTarget),
  status: OneOf(integrationStatuses),
  webhook_url: T.String(),
  webhook_secret_hint: T.String({ description: "The last four characters of the secret" }),
  last_event_at: Nullable(Time),
  last_event: Nullable(
    T.Object({
      type: OneOf(gitEventTypes),
      ref: Nullable(T.String()),
      commit: Nullable(T.String()),
      build_id: Nullable(Id),
    }),
  ),
  last_polled_at: Nullable(Time),
  last_error: Nullable(T.String()),
  created_at: Time,
  updated_at: Time,
}

export const Integration = T.Object(integrationFields)
export const WithSecret = T.Object({
  ...integrationFields,
  webhook_secret: T.Optional(T.String({ description: "Shown when it is new, and then never again" })),
})

export const GitEvent = T.Object({
  id: Id,
  integration_id: Id,
  source: OneOf(["webhook", "poll", "replay"]),
  type: OneOf(gitEventTypes),
  provider_event: T.String({ description: "What the provider calls it" }),
  delivery_id: Nullable(T.String({ description: "The provider's" })),
  repository: T.String(),
  ref: Nullable(T.String()),
  commit: Nullable(T.String()),
  commit_before: Nullable(T.String()),
  message: Nullable(
    T.String({ description: "The first line of the newest commit's, or the pull request's title" }),
  ),
  author: Nullable(T.String()),
  pull_request: Nullable(
    T.Object({ number: T.Integer(), action: T.String(), source: T.String(), target: T.String() }),
  ),
  paths: Nullable(
    T.Array(T.String(), { description: "Changed files; null where the provider does not tell" }),
  ),
  status: OneOf(gitEventStatuses),
  reason: Nullable(T.String({ description: "Why it was ignored, or what failed" })),
  build_id: Nullable(Id),
  received_at: Time,
  processed_at: Nullable(Time),
})

export const Installation = T.Object({
  installation_id: T.Integer(),
  provider: OneOf(gitProviders),
  account: T.Object({ login: T.String(), type: T.String() }),
  repository_selection: T.String({ description: "`all` or `selected`" }),
  permissions: T.Record(T.String(), T.String()),
  suspended_at: Nullable(Time),
  html_url: Nullable(T.String()),
  created_at: Time,
})

const PERMISSIONS_MAX = 64

export const TokenBody = T.Object({
  repository_ids: T.Optional(T.Array(InstallationId, { minItems: 1, maxItems: 500, uniqueItems: true })),
  permissions: T.Optional(
    Dictionary(T.String({ minLength: 1, maxLength: 64 }), OneOf(["read", "write", "admin"]), {
      maxProperties: PERMISSIONS_MAX,
      description: "GitHub's names, such as `contents`",
    }),
  ),
})

export const InstallationToken = T.Object({
  token: T.String(),
  expires_at: Time,
  permissions: T.Record(T.String(), T.String()),
  repository_selection: T.String(),
})

export const Repositories = T.Object(
  {
    data: T.Array(
      T.Object({
        id: T.String(),
        full_name: T.String(),
        private: T.Boolean(),
        default_branch: Nullable(T.String()),
        clone_url: T.String(),
        provider: OneOf(gitProviders),
        installation_id: Nullable(T.Integer()),
      }),
    ),
    errors: T.Array(
      T.Object({
        provider: OneOf(gitProviders),
        installation_id: Nullable(T.Integer()),
        message: T.String(),
      }),
    ),
  },
  { "x-svc-list": true },
)

export const CredentialsBody = T.Object({
  base_url: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 2048,
      description: "Of the API, for servers of your own: `https://git.example.com/api/v4`",
    }),
  ),
  token: T.Optional(
    T.String({ minLength: 1, maxLength: 8192, description: "A personal, project or repository token" }),
  ),
  username: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 255,
      description: "Bitbucket: whose API token it is; none for access tokens",
    }),
  ),
  app_id: T.Optional(
    T.String({ minLength: 1, maxLength: 64, description: "GitHub: an App's id or client id" }),
  ),
  private_key: T.Optional(
    T.String({ minLength: 1, maxLength: 16_384, description: "GitHub: that App's key, in PEM" }),
  ),
})

export const Credentials = T.Object({
  provider: OneOf(gitProviders),
  kind: OneOf(["token", "app"]),
  base_url: T.String(),
  username: Nullable(T.String()),
  app_id: Nullable(T.String()),
  hint: T.String({ description: "The last four characters of a token, or the fingerprint of a key" }),
  created_at: Time,
  updated_at: Time,
})

export const TestResult = T.Object({
  success: T.Boolean(),
  repository: Nullable(T.String({ description: "As the provider spells it" })),
  default_branch: Nullable(T.String()),
  error: Nullable(T.String()),
})

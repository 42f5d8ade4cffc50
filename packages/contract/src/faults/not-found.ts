import type { FaultSpec } from "./spec.ts"

/** 404. An id of another tenant gets exactly the reply of an id that never existed, so no text says which it was. */
export const notFoundFaults = {
  route_not_found: {
    status: 404,
    text: "no operation has this method and path[: {method} {path}]",
    help: "Check the path and its version prefix: most areas are under `/v1`, database and encryption under `/api/v1`. The API reference lists every operation.",
  },
  resource_not_found: {
    status: 404,
    text: "resource not found[: {id}]",
    help: "Nothing with this id exists in this organization and project. Check the id and which project the key works in.",
  },
  tool_not_found: {
    status: 404,
    text: "tool not found[: {name}]",
    help: "No tool has this name, or none that a key may use. `GET /api/v1/mcp?toolsets=all` lists those that the key admits; `search_tools` finds them by words.",
  },
  key_not_found: {
    status: 404,
    text: "key not found[: {id}]",
    help: "The organization has no key with this id. `GET /v1/keys` lists them; the id is not the secret.",
  },
  organization_not_found: {
    status: 404,
    text: "organization not found[: {id}]",
    help: "No organization you belong to has this id. `GET /v1/organizations` lists yours.",
  },
  project_not_found: {
    status: 404,
    text: "project not found[: {id}]",
    help: "The organization has no project with this id, or you were not given access to it. `GET /v1/projects` lists yours.",
  },
  member_not_found: {
    status: 404,
    text: "member not found[: {id}]",
    help: "The organization has no member with this id.",
  },
  invitation_not_found: {
    status: 404,
    text: "invitation not found[: {id}]",
    help: "The invitation was used, withdrawn, or is older than seven days. Ask for a new one.",
  },
  approval_not_found: {
    status: 404,
    text: "approval not found[: {id}]",
    help: "No approval with this id exists, or it was requested by another key. `GET /v1/approvals` lists those you can see.",
  },
  connected_app_not_found: {
    status: 404,
    text: "connected app not found[: {name}]",
    help: "No app of this name is connected. `GET /v1/connected-apps` lists them by name.",
  },
  factor_not_found: {
    status: 404,
    text: "second factor not found[: {id}]",
    help: "The user has no second factor with this id. `GET /v1/auth/mfa/factors` lists them.",
  },
  database_not_found: {
    status: 404,
    text: "database not found[: {id}][: {reason}]",
    help: "The project has no database with this id. A deleted one can be restored until its `purge_at`; after that it is gone for good.",
  },
  database_not_provisioned: {
    status: 404,
    text: "the project has no database yet; POST /v1/databases/provision creates one",
    help: "The first statement of a caller that may write creates the project's default database. A read-only key, or one with `database:read` alone, does not create it: call `POST /v1/databases/provision` with a key that has `database:manage`, or name another database by `database_id`.",
  },
  branch_not_found: {
    status: 404,
    text: "branch not found[: {id}]",
    help: "The database has no branch with this id.",
  },
  table_not_found: {
    status: 404,
    text: "table not found[: {name}]",
    help: "The database has no table or view of this name in the schema searched. `GET /api/v1/schema` lists them; names are case-sensitive.",
  },
  bucket_not_found: {
    status: 404,
    text: "bucket not found[: {name}]",
    help: "The project has no bucket of this name. `GET /v1/storage/buckets` lists them.",
  },
  object_not_found: {
    status: 404,
    text: "object not found[: {key}]",
    help: "The bucket has no object with this key. Keys are case-sensitive and have a leading slash only if it was part of the key when the object was stored.",
  },
  repository_not_found: {
    status: 404,
    text: "repository not found[: {name}]",
    help: "The project has no repository of this name, or the key does not work in the project that is the first part of the name. Names are `<project id>/<repository>`; `GET /v1/registry/v2/_catalog` lists them.",
  },
  blob_not_found: {
    status: 404,
    text: "the repository does not have this blob[: {id}]",
    help: "Push it again, with the image that it is part of. Blobs that no manifest refers to are removed a day after they were last pushed or asked for.",
  },
  image_upload_not_found: {
    status: 404,
    text: "upload not found[: {id}]",
    help: "It was completed or cancelled, or got no bytes for a day. Start a new one.",
  },
  manifest_not_found: {
    status: 404,
    text: "the repository does not have this manifest[: {id}]",
    help: "No manifest has this tag or digest. `GET /v1/registry/v2/{project_id}/{repository}/tags/list` lists the tags.",
  },
  upload_not_found: {
    status: 404,
    text: "upload not found[: {id}]",
    help: "It was completed, aborted, or has expired: uploads expire after seven days. Start a new one.",
  },
  function_not_found: {
    status: 404,
    text: "function not found[: {id}]",
    help: "The project has no function with this id or name. `GET /v1/functions` lists them.",
  },
  invocation_not_found: {
    status: 404,
    text: "invocation not found[: {id}]",
    help: "The function has no invocation with this id, or it is older than the stored ones. `GET /v1/functions/{id}/invocations` lists them.",
  },
  service_not_found: {
    status: 404,
    text: "service not found[: {id}]",
    help: "The project has no run service with this id or name. `GET /v1/run/services` lists them.",
  },
  deployment_not_found: {
    status: 404,
    text: "deployment not found[: {id}]",
    help: "The project has no deployment with this id or name. `GET /v1/compute/deployments` lists them.",
  },
  computer_not_found: {
    status: 404,
    text: "computer not found[: {id}]",
    help: "The project has no computer with this id. `GET /v1/computers` lists them.",
  },
  sandbox_not_found: {
    status: 404,
    text: "sandbox not found[: {id}]",
    help: "The sandbox was deleted or reached its time limit; ephemeral sandboxes leave nothing behind. Create a new one.",
  },
  file_not_found: {
    status: 404,
    text: "there is no such file[: {path}]",
    help: "Nothing is at this path inside the workload. Paths are absolute there and case-sensitive.",
  },
  build_not_found: {
    status: 404,
    text: "build not found[: {id}]",
    help: "The project has no build with this id. `GET /v1/build` lists them.",
  },
  schedule_not_found: {
    status: 404,
    text: "schedule not found[: {id}]",
    help: "The project has no schedule with this id. `GET /v1/cron/schedules` lists them.",
  },
  execution_not_found: {
    status: 404,
    text: "execution not found[: {id}]",
    help: "The schedule has no execution with this id, or it is older than the stored ones. `GET /v1/cron/schedules/{id}/executions` lists them.",
  },
  topic_not_found: {
    status: 404,
    text: "topic not found[: {id}]",
    help: "The project has no topic with this id. Use the id from the topic's record, not its name.",
  },
  subscription_not_found: {
    status: 404,
    text: "subscription not found[: {id}]",
    help: "The project has no subscription with this id.",
  },
  model_not_found: {
    status: 404,
    text: "no such model[: {model}]",
    help: "No upstream that you can use serves it for this kind of request, or your plan does not include it. `GET /v1/ai/models` lists what you can call.",
  },
  ai_upstream_not_found: {
    status: 404,
    text: "upstream not found[: {id}]",
    help: "The organization has no upstream with this id. `GET /v1/ai/upstreams` lists them.",
  },
  webhook_not_found: {
    status: 404,
    text: "webhook not found[: {id}]",
    help: "The organization has no webhook with this id. `GET /api/v1/tenants/{tenant_id}/webhooks` lists them.",
  },
  delivery_not_found: {
    status: 404,
    text: "delivery not found[: {id}]",
    help: "The endpoint has no delivery with this id, or its record was deleted. List the deliveries of the endpoint to see those that are stored.",
  },
  template_not_found: {
    status: 404,
    text: "template not found[: {id}]",
    help: "The organization has no e-mail template of this id or name. `GET /v1/email/templates` lists them.",
  },
  domain_not_found: {
    status: 404,
    text: "domain not found[: {domain}]",
    help: "The domain is not registered here. Add it before verifying or using it.",
  },
  vpc_not_found: {
    status: 404,
    text: "private network not found[: {id}]",
    help: "The organization has no private network with this id. `GET /v1/vpc` lists them.",
  },
  peer_not_found: {
    status: 404,
    text: "peer not found[: {id}]",
    help: "The private network has no peer with this id. `GET /v1/vpc/{id}/peers` lists them.",
  },
  load_balancer_not_found: {
    status: 404,
    text: "load balancer not found[: {id}]",
    help: "The project has no load balancer with this id. `GET /v1/lb` lists them.",
  },
  backend_not_found: {
    status: 404,
    text: "backend not found[: {id}]",
    help: "The load balancer has no backend with this id. `GET /v1/lb/{id}` shows those it has.",
  },
  rule_not_found: {
    status: 404,
    text: "rule not found[: {id}]",
    help: "The project has no firewall rule with this id. `GET /v1/waf/rules` lists them.",
  },
  integration_not_found: {
    status: 404,
    text: "integration not found[: {id}]",
    help: "The project has no integration with this id. `GET /v1/integrations` lists them.",
  },
  installation_not_found: {
    status: 404,
    text: "installation not found[: {id}]",
    help: "The provider app's installation does not exist or belongs to another project. `GET /v1/integrations/vcs/installations` lists yours.",
  },
  collection_not_found: {
    status: 404,
    text: "collection not found[: {name}]",
    help: "There is no vector collection of this name. Create it first, with the dimension of its vectors.",
  },
  document_not_found: {
    status: 404,
    text: "document not found[: {id}]",
    help: "There is no document with this id, or it was deleted.",
  },
  notification_not_found: {
    status: 404,
    text: "notification not found[: {id}]",
    help: "There is no notification with this id for this recipient.",
  },
  device_not_found: {
    status: 404,
    text: "device not found[: {id}]",
    help: "No device with this id is registered for notifications.",
  },
  chat_session_not_found: {
    status: 404,
    text: "chat session not found[: {id}]",
    help: "The organization has no support chat with this id. `GET /v1/support/chat/sessions` lists them.",
  },
  ticket_not_found: {
    status: 404,
    text: "ticket not found[: {id}]",
    help: "The organization has no ticket with this id. `GET /v1/support/tickets` lists them.",
  },
  invoice_not_found: {
    status: 404,
    text: "invoice not found[: {id}]",
    help: "The organization has no invoice with this id. `GET /v1/billing/invoices/{tenant_id}` lists them.",
  },
  agreement_not_found: {
    status: 404,
    text: "agreement not found[: {module}]",
    help: "No module of this name has an agreement. `GET /v1/billing/agreements/{tenant_id}` lists them.",
  },
  gdpr_request_not_found: {
    status: 404,
    text: "data-subject request not found[: {id}]",
    help: "The organization has no data-subject request with this id. `GET /v1/compliance/gdpr/requests` lists them.",
  },
} as const satisfies Record<string, FaultSpec>

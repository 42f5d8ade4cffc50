/** GitLab's webhooks (docs.gitlab.com/user/project/integrations/webhook_events). */
import type { GitEvent, Hooks } from "../../port.ts"
import {
  commitAt,
  eventOf,
  firstLine,
  type Json,
  listAt,
  numberAt,
  objectAt,
  pathsOf,
  pullRequestEvent,
  readJson,
  textAt,
  typeOfRef,
} from "../../reading.ts"
import { isSecret, isStandardSigned } from "../../signatures.ts"

const repositoryOf = (body: Json): string => textAt(objectAt(body, "project"), "path_with_namespace") ?? ""

const pushOf = (body: Json): GitEvent => {
  const ref = textAt(body, "ref")
  const commits = listAt(body, "commits")
  const commit = commitAt(body, "after")
  const newest = objectAt({ found: commits.find(each => objectAt(each).id === commit) }, "found")
  // At most 20 commits are told, and how many there are.
  const isWhole = commits.length > 0 && numberAt(body, "total_commits_count") === commits.length
  const commitBefore = commitAt(body, "before")
  return eventOf({
    type: typeOfRef(ref),
    repository: repositoryOf(body),
    ...{ ref, commit, commitBefore },
    message: firstLine(textAt(newest, "message")),
    author: textAt(body, "user_username"),
    paths: pathsOf(commits, isWhole && commitBefore !== null),
  })
}

const mergeRequestOf = (body: Json): GitEvent => {
  const request = objectAt(body, "object_attributes")
  return pullRequestEvent({
    repository: repositoryOf(body),
    number: numberAt(request, "iid"),
    action: textAt(request, "action") ?? "",
    source: textAt(request, "source_branch"),
    target: textAt(request, "target_branch"),
    commit: commitAt(objectAt(request, "last_commit"), "id"),
    title: textAt(request, "title"),
    author: textAt(objectAt(body, "user"), "username"),
  })
}

const eventFrom = (body: Json): GitEvent => {
  switch (body.object_kind) {
    case "push":
    case "tag_push":
      return pushOf(body)
    case "merge_request":
      return mergeRequestOf(body)
    default:
      return eventOf({ type: "other", repository: repositoryOf(body) })
  }
}

export const gitlabHooks: Hooks = {
  signatureHeaders: ["webhook-signature", "x-gitlab-token"],
  isGenuine({ header, body }, secret, nowMs) {
    const signature = header("webhook-signature")
    // Where there is a signature, the plain token is no way around it.
    if (signature === undefined) return isSecret(secret, header("x-gitlab-token"))
    const [id, timestamp] = [header("webhook-id"), header("webhook-timestamp")]
    return isStandardSigned(body, secret, { id, timestamp, signature }, nowMs)
  },
  // What is signed comes first; the two are the same where both are sent.
  idOf: ({ header }) => header("webhook-id") ?? header("idempotency-key") ?? header("x-gitlab-event-uuid"),
  read(delivery) {
    return {
      providerEvent: delivery.header("x-gitlab-event") ?? "",
      events: [eventFrom(readJson(delivery))],
    }
  },
}

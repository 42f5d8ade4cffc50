/** What programs want to do and may not do alone, for a person to decide. */
import { useState } from "react"
import { call } from "../../api.ts"
import { operationOf } from "../../derived/manifest.ts"
import type { Surroundings } from "../../derived/request.ts"
import { href, setQuery } from "../../router.ts"
import { useAgain } from "../../ui/again.ts"
import { Problem } from "../../ui/problem.tsx"
import { Status, Time } from "../../ui/value.tsx"
import type { ScreenProps } from "../props.ts"

interface Approval {
  readonly id: string
  readonly status: string
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly detail: string | null
  readonly request_digest: string
  readonly requested_by: { readonly key_id: string; readonly name: string }
  readonly requested_at: string
  readonly expires_at: string
  readonly decided_by: { readonly email: string } | null
  readonly decided_at: string | null
  readonly comment: string | null
  readonly result: { readonly status: number; readonly body?: unknown } | null
}

const REFRESH_MS = 10_000
const OPEN = new Set(["pending", "approved", "executing"])

/** New ones appear while somebody looks. */
const useApprovals = (surroundings: Surroundings, status: string | null) =>
  useAgain(
    `approvals ${status}`,
    async () => {
      const fields = { limit: 100, ...(status ? { status } : {}) }
      const options = { quiet: true }
      return (
        await call<{ readonly data: readonly Approval[] }>("listApprovals", fields, surroundings, options)
      ).data
    },
    REFRESH_MS,
  )

const Decide = ({
  approval: { id },
  surroundings,
  onDecided,
}: {
  readonly approval: Approval
  readonly surroundings: Surroundings
  readonly onDecided: () => void
}) => {
  const [comment, setComment] = useState("")
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const decide = async (operation: "approveApproval" | "rejectApproval") => {
    setBusy(true)
    setError(undefined)
    try {
      await call(operation, { id, ...(comment === "" ? {} : { comment }) }, surroundings)
    } catch (refused) {
      setError(refused)
    }
    setBusy(false)
    onDecided()
  }
  return (
    <>
      <div className="line">
        <input
          aria-label="Comment"
          placeholder="Comment for who asked"
          maxLength={500}
          value={comment}
          onChange={event => setComment(event.target.value)}
        />
        <button type="button" disabled={isBusy} onClick={() => void decide("approveApproval")}>
          Approve
        </button>
        <button
          type="button"
          className="quiet"
          disabled={isBusy}
          onClick={() => void decide("rejectApproval")}
        >
          Reject
        </button>
      </div>
      <Problem error={error} />
    </>
  )
}

const Outcome = ({
  approval: { decided_by, decided_at, comment, result },
}: {
  readonly approval: Approval
}) => (
  <>
    {decided_by && decided_at && (
      <p className="soft small">
        Decided by {decided_by.email} <Time time={decided_at} />
        {comment && <>: “{comment}”</>}
      </p>
    )}
    {result && (
      <details>
        <summary className="soft small">It answered {result.status}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard */}
        <pre tabIndex={0}>{JSON.stringify(result.body ?? null, null, 2)}</pre>
      </details>
    )}
  </>
)

const Card = ({
  approval,
  surroundings,
  onDecided,
}: {
  readonly approval: Approval
  readonly surroundings: Surroundings
  readonly onDecided: () => void
}) => {
  const { status, operation, method, path, summary, detail, requested_by, requested_at, expires_at } =
    approval
  const isPending = status === "pending"
  return (
    <li className="panel">
      <div className="head">
        <h2>{summary}</h2>
        <Status text={status} />
      </div>
      {detail && <p>{detail}</p>}
      <p className="path">
        <span className={`method ${operationOf(operation)?.effect ?? "d"}`}>{method}</span>{" "}
        <code>{path}</code>
      </p>
      <p className="soft small">
        Asked by the key <a href={href("api/getKey", { "f.id": requested_by.key_id })}>{requested_by.name}</a>{" "}
        <Time time={requested_at} />
        {OPEN.has(status) && (
          <>
            {" "}
            · ends <Time time={expires_at} />
          </>
        )}{" "}
        · digest <code title={approval.request_digest}>{approval.request_digest.slice(0, 12)}</code>
      </p>
      <Outcome approval={approval} />
      {isPending && <Decide approval={approval} surroundings={surroundings} onDecided={onDecided} />}
    </li>
  )
}

export const ApprovalsPage = ({ surroundings, query }: ScreenProps) => {
  const isAll = query.has("all")
  const { value: approvals, error, reload } = useApprovals(surroundings, isAll ? null : "pending")
  return (
    <>
      <div className="head">
        <h1>Approvals</h1>
        <label className="tick">
          <input
            type="checkbox"
            checked={isAll}
            onChange={event => setQuery({ all: event.target.checked ? "1" : null })}
          />
          Show decided ones
        </label>
      </div>
      <Problem error={error} />
      {approvals === undefined && !error && <p className="soft">Loading …</p>}
      {approvals?.length === 0 && (
        <div className="empty">
          <p>
            <strong>Nothing waits for you.</strong> A key that was made with “High-risk calls wait for a
            person” asks here before it destroys something.
          </p>
          <p>
            <a href={href("keys", { new: "1" })}>Make such a key</a>
          </p>
        </div>
      )}
      <ul className="stack" aria-live="polite" aria-label="Approvals">
        {approvals?.map(approval => (
          <Card key={approval.id} approval={approval} surroundings={surroundings} onDecided={reload} />
        ))}
      </ul>
    </>
  )
}

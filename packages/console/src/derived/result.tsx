/** What came back: data, a table, a file, a stream, or the reason why not. */
import { type ReactNode, useEffect, useMemo, useState } from "react"
import { problemOf, type Received } from "../calls.ts"
import type { Details, OperationRow } from "../model.ts"
import { root } from "../root.ts"
import { href } from "../router.ts"
import { Copy } from "../ui/copy.tsx"
import { Value } from "../ui/value.tsx"
import { bytesOf, labelOf } from "./labels.ts"
import { Rows } from "./rows.tsx"

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The payload without the envelope around it. */
export const payloadOf = ({ json }: Received, { envelope }: Details): unknown =>
  envelope === "data" && isObject(json) && "data" in json && !Array.isArray(json.data) ? json.data : json

const Refusal = ({ received }: { readonly received: Received }) => {
  const problem = problemOf(received)
  if (!problem) return null
  return (
    <div className="notice bad" role="alert">
      <p>
        <strong>{problem.error}</strong>
      </p>
      {problem.errors && (
        <ul>
          {problem.errors.map(({ location, message }) => (
            <li key={`${location} ${message}`}>
              <code>{location}</code> {message}
            </li>
          ))}
        </ul>
      )}
      <p className="soft">
        {received.status}{" "}
        <a href={`${root}/docs/errors/${encodeURIComponent(problem.code)}`} target="_blank" rel="noreferrer">
          {problem.code}
        </a>
        , request <code>{received.requestId}</code>
      </p>
    </div>
  )
}

const Secret = ({ value }: { readonly value: string }) => {
  const [isShown, setShown] = useState(false)
  return (
    <span className="secret">
      <code>{isShown ? value : "•".repeat(16)}</code>
      <button type="button" className="quiet small" onClick={() => setShown(!isShown)}>
        {isShown ? "Hide" : "Show"}
      </button>
      <Copy text={value} />
    </span>
  )
}

const RecordView = ({
  value,
  secrets,
}: {
  readonly value: Record<string, unknown>
  readonly secrets: readonly string[]
}) => (
  <dl className="record">
    {Object.entries(value).map(([name, field]) => (
      <div key={name}>
        <dt title={name}>{labelOf(name)}</dt>
        <dd>
          {secrets.includes(name) && typeof field === "string" ? (
            <Secret value={field} />
          ) : (
            <Value name={name} value={field} whole />
          )}
        </dd>
      </div>
    ))}
  </dl>
)

const SaveFile = ({
  blob,
  fileName,
  type,
}: {
  readonly blob: Blob
  readonly fileName: string
  readonly type: string
}) => {
  const url = useMemo(() => URL.createObjectURL(blob), [blob])
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  return (
    <>
      {type.startsWith("image/") && <img className="preview" src={url} alt={fileName} />}
      {type.startsWith("audio/") && (
        // biome-ignore lint/a11y/useMediaCaption: a recording of the caller's own has no captions
        <audio controls src={url} />
      )}
      <p>
        <a className="button" href={url} download={fileName}>
          Save {fileName} ({bytesOf(blob.size)})
        </a>
      </p>
    </>
  )
}

const Waiting = () => (
  <div className="notice">
    <p>
      <strong>This waits for a person's approval.</strong> It is done when somebody agrees.
    </p>
    <p>
      <a href={href("api/listApprovals")}>Open the approvals</a>
    </p>
  </div>
)

const Content = ({ received, details, operation }: ResultProps) => {
  const payload = payloadOf(received, details)
  const { field } = details.list ?? {}
  const rows = field !== undefined && isObject(payload) ? payload[field] : undefined
  if (Array.isArray(rows))
    return <Rows {...{ rows, payload: payload as Record<string, unknown>, details, operation }} />
  if (isObject(payload)) return <RecordView value={payload} secrets={details.secrets ?? []} />
  if (received.json !== undefined) return <Raw text={JSON.stringify(received.json, null, 2)} />
  if (received.text !== undefined && received.text !== "") return <Raw text={received.text} />
  if (received.size === 0) return <p className="soft">Done. The reply has no content.</p>
  return null
}

const Raw = ({ text }: { readonly text: string }) => (
  <div className="code-box">
    <Copy text={text} />
    {/* A keyboard scrolls it only where it can have the focus. */}
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard */}
    <pre tabIndex={0}>{text}</pre>
  </div>
)

interface ResultProps {
  readonly received: Received
  readonly details: Details
  readonly operation: OperationRow
}

const Line = ({ received }: { readonly received: Received }): ReactNode => (
  <p className="result-line soft">
    <span className={`status ${received.status < 400 ? "good" : "bad"}`}>
      <span aria-hidden="true">{received.status < 400 ? "●" : "▲"}</span> {received.status}
    </span>{" "}
    <span className="number">{received.ms} ms</span> <span className="number">{bytesOf(received.size)}</span>{" "}
    <span>
      request <code>{received.requestId}</code>
    </span>
  </p>
)

export const Result = (props: ResultProps) => {
  const { received, details } = props
  const { blob, fileName, json } = received
  const hasSecrets = received.status < 300 && (details.secrets?.length ?? 0) > 0
  const isMasked = hasSecrets
  return (
    <div className="result">
      <Line received={received} />
      {received.status >= 400 && <Refusal received={received} />}
      {received.status === 202 && isObject(json) && JSON.stringify(json).includes('"approval"') && (
        <Waiting />
      )}
      {hasSecrets && (
        <p className="notice">The secret is shown here once. Keep it now: it cannot be read again.</p>
      )}
      {received.status < 400 && <Content {...props} />}
      {received.status < 400 && blob && fileName && <SaveFile {...{ blob, fileName, type: received.type }} />}
      {json !== undefined && !isMasked && (
        <details>
          <summary>Reply as JSON</summary>
          <Raw text={JSON.stringify(json, null, 2)} />
        </details>
      )}
    </div>
  )
}

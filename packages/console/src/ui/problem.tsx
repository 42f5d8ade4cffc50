import { Refused } from "../api.ts"
import { root } from "../root.ts"

/** Why something failed: the message, its code with a page, and the request. */
export const Problem = ({ error }: { readonly error: unknown }) => {
  if (error === undefined || error === null) return null
  const refused = error instanceof Refused ? error.problem : undefined
  return (
    <div className="notice bad" role="alert">
      <p>
        <strong>{error instanceof Error ? error.message : String(error)}</strong>
      </p>
      {refused?.errors && (
        <ul>
          {refused.errors.map(({ location, message }) => (
            <li key={`${location} ${message}`}>
              <code>{location}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {refused && (
        <p className="soft small">
          <a
            href={`${root}/docs/errors/${encodeURIComponent(refused.code)}`}
            target="_blank"
            rel="noreferrer"
          >
            {refused.code}
          </a>
          {refused.request_id && (
            <>
              , request <code>{refused.request_id}</code>
            </>
          )}
        </p>
      )}
    </div>
  )
}

export const Mark = () => (
  <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
    <rect width="20" height="20" rx="5" fill="#2452c9" />
    <path d="M5 6.5h10M5 10h10M5 13.5h6" stroke="#fff" strokeWidth="1.8" strokeLinecap="round" />
  </svg>
)

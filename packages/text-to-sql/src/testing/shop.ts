import { type EvaluationSet, pairs } from "./evaluation.ts"

const setup = `
CREATE TYPE order_status AS ENUM ('pending', 'paid', 'shipped', 'delivered', 'cancelled');
CREATE TABLE categories (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, email text, city text, country text NOT NULL,
  is_active boolean NOT NULL, created_at timestamptz NOT NULL);
CREATE TABLE products (id int PRIMARY KEY, name text NOT NULL, category_id int NOT NULL REFERENCES categories,
  price numeric(10,2) NOT NULL, stock int NOT NULL, discontinued boolean NOT NULL);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, status order_status NOT NULL,
  ordered_at timestamptz NOT NULL, shipped_at timestamptz);
CREATE TABLE order_items (order_id int NOT NULL REFERENCES orders, product_id int NOT NULL REFERENCES products,
  quantity int NOT NULL, unit_price numeric(10,2) NOT NULL, PRIMARY KEY (order_id, product_id));
CREATE TABLE reviews (id int PRIMARY KEY, product_id int NOT NULL REFERENCES products,
  customer_id int NOT NULL REFERENCES customers, rating int NOT NULL, comment text, created_at timestamptz NOT NULL);
INSERT INTO categories VALUES (1, 'Electronics'), (2, 'Books'), (3, 'Garden'), (4, 'Toys');
INSERT INTO customers SELECT i,
  (ARRAY['Alice Smith','Bob Jones','Carla Diaz','David Kim','Eva Novak','Frank Muller','Grace Lee','Hugo Silva',
         'Ines Rossi','Jack Brown','Kira Sato','Liam Walsh'])[i],
  CASE WHEN i % 5 = 0 THEN NULL ELSE 'user' || i || CASE WHEN i % 2 = 0 THEN '@example.com' ELSE '@mail.org' END END,
  (ARRAY['Berlin','London','Madrid','Seoul','Prague','Berlin','London','Lisbon','Rome','London','Tokyo',NULL])[i],
  (ARRAY['Germany','United Kingdom','Spain','South Korea','Czechia','Germany','United Kingdom','Portugal','Italy',
         'United Kingdom','Japan','Ireland'])[i],
  i % 4 <> 0, timestamptz '2022-01-10 09:00Z' + i * interval '67 days' FROM generate_series(1, 12) i;
INSERT INTO products SELECT i, (ARRAY['Laptop','Phone','Headphones','Monitor','Cookbook','Novel','Atlas','Rake',
  'Shovel','Hose','Puzzle','Robot','Kite','Drone Pro','Phone Pro'])[i],
  (ARRAY[1,1,1,1,2,2,2,3,3,3,4,4,4,1,1])[i],
  (ARRAY[1200,800,150,300,25,12,40,18,22,35,15,60,20,950,1100])[i] + 0.5, (i * 7) % 40, i IN (7, 10) FROM generate_series(1, 15) i;
INSERT INTO orders SELECT i, 1 + (i * i) % 9, (ARRAY['pending','paid','shipped','delivered','cancelled'])[1 + i % 5]::order_status,
  timestamptz '2022-11-05 10:00Z' + i * interval '9 days 5 hours', 
  CASE WHEN i % 5 IN (2, 3) THEN timestamptz '2022-11-07 10:00Z' + i * interval '9 days 5 hours' END FROM generate_series(1, 62) i;
INSERT INTO order_items SELECT i, 1 + (i * 3 + k * 5) % 13, 1 + (i + k) % 4, p.price FROM generate_series(1, 62) i, generate_series(0, 2) k
  JOIN products p ON true WHERE p.id = 1 + (i * 3 + k * 5) % 13 AND (i + k) % 3 <> 0;
INSERT INTO reviews SELECT i, 1 + (i * 2) % 11, 1 + (i * 5) % 10, 1 + (i * 7) % 5, CASE WHEN i % 3 = 0 THEN NULL WHEN i % 2 = 0
  THEN 'Great value' ELSE 'Broke after a week' END, timestamptz '2023-05-01 08:00Z' + i * interval '11 days' FROM generate_series(1, 30) i;
`

const revenue = "sum(i.quantity * i.unit_price)"
const items = "order_items i JOIN orders o ON o.id = i.order_id"

export const shop: EvaluationSet = {
  name: "shop",
  setup,
  pairs: pairs([
    ["list", "show all customers", "SELECT * FROM customers"],
    ["list", "list the names and emails of customers", "SELECT name, email FROM customers"],
    ["list", "what are the product names and prices?", "SELECT name, price FROM products"],
    ["list", "which countries do our customers come from?", "SELECT DISTINCT country FROM customers"],
    ["list", "show the distinct cities of customers", "SELECT DISTINCT city FROM customers"],
    ["filter", "customers from Germany", "SELECT * FROM customers WHERE country = 'Germany'"],
    ["filter", "customers in London or Berlin", "SELECT * FROM customers WHERE city IN ('London','Berlin')"],
    [
      "filter",
      "list customers who are not from the United Kingdom",
      "SELECT * FROM customers WHERE country <> 'United Kingdom'",
    ],
    ["filter", "products that cost more than 100", "SELECT * FROM products WHERE price > 100"],
    [
      "filter",
      "products with price between 20 and 50 dollars",
      "SELECT * FROM products WHERE price BETWEEN 20 AND 50",
    ],
    ["filter", "products cheaper than 20 euros", "SELECT * FROM products WHERE price < 20"],
    ["filter", "discontinued products", "SELECT * FROM products WHERE discontinued"],
    ["filter", "inactive customers", "SELECT * FROM customers WHERE NOT is_active"],
    ["filter", "active customers from London", "SELECT * FROM customers WHERE is_active AND city = 'London'"],
    ["filter", "customers without an email", "SELECT * FROM customers WHERE email IS NULL"],
    ["filter", "customers whose city is unknown", "SELECT * FROM customers WHERE city IS NULL"],
    ["filter", "products containing 'Pro'", "SELECT * FROM products WHERE name ILIKE '%pro%'"],
    ["filter", "customers whose name starts with 'A'", "SELECT * FROM customers WHERE name LIKE 'A%'"],
    [
      "filter",
      "customers with an email ending in '@mail.org'",
      "SELECT * FROM customers WHERE email LIKE '%@mail.org'",
    ],
    ["filter", "products with a stock of at least 20", "SELECT * FROM products WHERE stock >= 20"],
    ["filter", "reviews with rating 5", "SELECT * FROM reviews WHERE rating = 5"],
    ["filter", "products with more than 30 units in stock", "SELECT * FROM products WHERE stock > 30"],
    ["filter", "show cancelled orders", "SELECT * FROM orders WHERE status = 'cancelled'"],
    ["filter", "orders that are not delivered", "SELECT * FROM orders WHERE status <> 'delivered'"],
    ["filter", "reviews without a comment", "SELECT * FROM reviews WHERE comment IS NULL"],
    [
      "filter",
      "products more expensive than the average",
      "SELECT * FROM products WHERE price > (SELECT avg(price) FROM products)",
    ],
    ["count", "how many customers are there?", "SELECT count(*) FROM customers"],
    ["count", "how many orders have been shipped?", "SELECT count(*) FROM orders WHERE status = 'shipped'"],
    [
      "count",
      "number of products in the Electronics category",
      "SELECT count(*) FROM products p JOIN categories c ON c.id = p.category_id WHERE c.name = 'Electronics'",
    ],
    [
      "count",
      "how many different countries do customers live in?",
      "SELECT count(DISTINCT country) FROM customers",
    ],
    [
      "count",
      "how many orders did Alice Smith place?",
      "SELECT count(*) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.name = 'Alice Smith'",
    ],
    ["aggregate", "what is the average product price?", "SELECT avg(price) FROM products"],
    ["aggregate", "what is the highest price?", "SELECT max(price) FROM products"],
    ["aggregate", "total stock of all products", "SELECT sum(stock) FROM products"],
    [
      "aggregate",
      "average rating of the Laptop",
      "SELECT avg(rating) FROM reviews r JOIN products p ON p.id = r.product_id WHERE p.name = 'Laptop'",
    ],
    ["aggregate", "total revenue", "SELECT sum(quantity * unit_price) FROM order_items"],
    [
      "aggregate",
      "total revenue in 2023",
      `SELECT ${revenue} FROM ${items} WHERE o.ordered_at >= '2023-01-01' AND o.ordered_at < '2024-01-01'`,
    ],
    [
      "aggregate",
      "how much did customers from Germany spend?",
      `SELECT ${revenue} FROM ${items} JOIN customers c ON c.id = o.customer_id WHERE c.country = 'Germany'`,
    ],
    [
      "group",
      "number of orders per customer",
      "SELECT c.name, count(*) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.id",
    ],
    ["group", "count orders by status", "SELECT status, count(*) FROM orders GROUP BY status"],
    [
      "group",
      "average price per category",
      "SELECT c.name, avg(p.price) FROM products p JOIN categories c ON c.id = p.category_id GROUP BY c.id",
    ],
    [
      "group",
      "how many customers are in each country?",
      "SELECT country, count(*) FROM customers GROUP BY country",
    ],
    [
      "group",
      "revenue by product category",
      `SELECT c.name, ${revenue} FROM order_items i JOIN products p ON p.id = i.product_id JOIN categories c ON c.id = p.category_id GROUP BY c.id`,
    ],
    [
      "group",
      "total quantity sold per product",
      "SELECT p.name, sum(i.quantity) FROM order_items i JOIN products p ON p.id = i.product_id GROUP BY p.id",
    ],
    [
      "group",
      "average rating for each product",
      "SELECT p.name, avg(rating) FROM reviews r JOIN products p ON p.id = r.product_id GROUP BY p.id",
    ],
    [
      "group",
      "orders per month in 2023",
      "SELECT date_trunc('month', ordered_at)::date, count(*) FROM orders WHERE ordered_at >= '2023-01-01' AND ordered_at < '2024-01-01' GROUP BY 1",
    ],
    [
      "group",
      "monthly revenue",
      `SELECT date_trunc('month', o.ordered_at)::date, ${revenue} FROM ${items} GROUP BY 1`,
    ],
    [
      "group",
      "number of orders per year and status",
      "SELECT date_trunc('year', ordered_at)::date, status, count(*) FROM orders GROUP BY 1, 2",
    ],
    ["rank", "top 5 most expensive products", "SELECT * FROM products ORDER BY price DESC LIMIT 5"],
    ["rank", "the three cheapest products", "SELECT * FROM products ORDER BY price LIMIT 3"],
    [
      "rank",
      "which customer has the most orders?",
      "SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.id ORDER BY count(*) DESC LIMIT 1",
    ],
    [
      "rank",
      "top 3 customers by revenue",
      `SELECT c.name, ${revenue} FROM ${items} JOIN customers c ON c.id = o.customer_id GROUP BY c.id ORDER BY 2 DESC LIMIT 3`,
    ],
    [
      "rank",
      "which category has the highest average price?",
      "SELECT c.name FROM products p JOIN categories c ON c.id = p.category_id GROUP BY c.id ORDER BY avg(p.price) DESC LIMIT 1",
    ],
    ["rank", "last 5 orders", "SELECT * FROM orders ORDER BY ordered_at DESC LIMIT 5"],
    ["rank", "newest customer", "SELECT * FROM customers ORDER BY created_at DESC LIMIT 1"],
    ["rank", "list products sorted by price descending", "SELECT * FROM products ORDER BY price DESC"],
    [
      "rank",
      "which country has the most customers?",
      "SELECT country FROM customers GROUP BY country ORDER BY count(*) DESC LIMIT 1",
    ],
    [
      "rank",
      "who spent the most in 2023?",
      `SELECT c.name FROM ${items} JOIN customers c ON c.id = o.customer_id WHERE o.ordered_at >= '2023-01-01' AND o.ordered_at < '2024-01-01' GROUP BY c.id ORDER BY ${revenue} DESC LIMIT 1`,
    ],
    [
      "first per",
      "the most expensive product in each category",
      "SELECT DISTINCT ON (category_id) * FROM products ORDER BY category_id, price DESC",
    ],
    [
      "first per",
      "latest order of each customer",
      "SELECT DISTINCT ON (customer_id) * FROM orders ORDER BY customer_id, ordered_at DESC",
    ],
    [
      "first per",
      "top 2 products per category by price",
      "SELECT name FROM (SELECT *, rank() OVER (PARTITION BY category_id ORDER BY price DESC) r FROM products) x WHERE r <= 2",
    ],
    ["date", "orders placed since March 2024", "SELECT * FROM orders WHERE ordered_at >= '2024-03-01'"],
    [
      "date",
      "orders from last month",
      "SELECT * FROM orders WHERE ordered_at >= '2024-05-01' AND ordered_at < '2024-06-01'",
    ],
    [
      "date",
      "how many orders were placed in 2023?",
      "SELECT count(*) FROM orders WHERE ordered_at >= '2023-01-01' AND ordered_at < '2024-01-01'",
    ],
    ["date", "orders in the past 30 days", "SELECT * FROM orders WHERE ordered_at >= '2024-05-16'"],
    ["date", "customers created before 2023", "SELECT * FROM customers WHERE created_at < '2023-01-01'"],
    [
      "date",
      "orders between January and March 2023",
      "SELECT * FROM orders WHERE ordered_at >= '2023-01-01' AND ordered_at < '2023-04-01'",
    ],
    ["date", "customers who signed up this year", "SELECT * FROM customers WHERE created_at >= '2024-01-01'"],
    [
      "date",
      "orders shipped in Q1 2024",
      "SELECT * FROM orders WHERE shipped_at >= '2024-01-01' AND shipped_at < '2024-04-01'",
    ],
    [
      "existence",
      "customers without orders",
      "SELECT * FROM customers c WHERE NOT EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id)",
    ],
    [
      "existence",
      "customers who have never ordered",
      "SELECT * FROM customers c WHERE NOT EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id)",
    ],
    [
      "existence",
      "products that have never been ordered",
      "SELECT * FROM products p WHERE NOT EXISTS (SELECT FROM order_items i WHERE i.product_id = p.id)",
    ],
    [
      "existence",
      "products with no reviews",
      "SELECT * FROM products p WHERE NOT EXISTS (SELECT FROM reviews r WHERE r.product_id = p.id)",
    ],
    [
      "existence",
      "customers who bought a Laptop",
      "SELECT * FROM customers c WHERE EXISTS (SELECT FROM orders o JOIN order_items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id WHERE o.customer_id = c.id AND p.name = 'Laptop')",
    ],
    [
      "existence",
      "customers who ordered something in 2024",
      "SELECT * FROM customers c WHERE EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id AND o.ordered_at >= '2024-01-01' AND o.ordered_at < '2025-01-01')",
    ],
    [
      "existence",
      "customers who ordered in 2022 but not in 2024",
      "SELECT * FROM customers c WHERE EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id AND o.ordered_at >= '2022-01-01' AND o.ordered_at < '2023-01-01') AND NOT EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id AND o.ordered_at >= '2024-01-01')",
    ],
    [
      "existence",
      "how many customers have no orders?",
      "SELECT count(*) FROM customers c WHERE NOT EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id)",
    ],
    [
      "having",
      "customers who have ordered more than 7 times",
      "SELECT * FROM customers c WHERE (SELECT count(*) FROM orders o WHERE o.customer_id = c.id) > 7",
    ],
    [
      "having",
      "customers with at least 5 orders",
      "SELECT * FROM customers c WHERE (SELECT count(*) FROM orders o WHERE o.customer_id = c.id) >= 5",
    ],
    [
      "having",
      "products with fewer than 3 reviews",
      "SELECT * FROM products p WHERE (SELECT count(*) FROM reviews r WHERE r.product_id = p.id) < 3",
    ],
    [
      "having",
      "products with an average rating above 3",
      "SELECT * FROM products p WHERE (SELECT avg(rating) FROM reviews r WHERE r.product_id = p.id) > 3",
    ],
    [
      "having",
      "categories with more than 3 products",
      "SELECT * FROM categories c WHERE (SELECT count(*) FROM products p WHERE p.category_id = c.id) > 3",
    ],
    [
      "percentage",
      "what percentage of orders are cancelled?",
      "SELECT round(100.0 * count(*) FILTER (WHERE status = 'cancelled') / count(*), 2) FROM orders",
    ],
    [
      "percentage",
      "percentage of orders by status",
      "SELECT status, round(100.0 * count(*) / sum(count(*)) OVER (), 2) FROM orders GROUP BY status",
    ],
    [
      "percentage",
      "what share of customers have no email?",
      "SELECT round(100.0 * count(*) FILTER (WHERE email IS NULL) / count(*), 2) FROM customers",
    ],
    [
      "join",
      "orders of customers from Spain",
      "SELECT o.* FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.country = 'Spain'",
    ],
    [
      "join",
      "list orders with their customer names",
      "SELECT o.*, c.name FROM orders o JOIN customers c ON c.id = o.customer_id",
    ],
    [
      "join",
      "products and their categories",
      "SELECT p.*, c.name FROM products p JOIN categories c ON c.id = p.category_id",
    ],
    [
      "join",
      "reviews of the Phone with rating below 3",
      "SELECT r.* FROM reviews r JOIN products p ON p.id = r.product_id WHERE p.name = 'Phone' AND r.rating < 3",
    ],
    [
      "join",
      "which products did Bob Jones buy?",
      "SELECT * FROM products p WHERE EXISTS (SELECT FROM order_items i JOIN orders o ON o.id = i.order_id JOIN customers c ON c.id = o.customer_id WHERE i.product_id = p.id AND c.name = 'Bob Jones')",
    ],
    [
      "comparison",
      "compare revenue in 2023 and 2024",
      `SELECT ${revenue} FILTER (WHERE o.ordered_at >= '2023-01-01' AND o.ordered_at < '2024-01-01'), ${revenue} FILTER (WHERE o.ordered_at >= '2024-01-01') FROM ${items}`,
    ],
    [
      "comparison",
      "number of orders this month versus last month",
      "SELECT count(*) FILTER (WHERE ordered_at >= '2024-06-01'), count(*) FILTER (WHERE ordered_at >= '2024-05-01' AND ordered_at < '2024-06-01') FROM orders",
    ],
  ]),
}

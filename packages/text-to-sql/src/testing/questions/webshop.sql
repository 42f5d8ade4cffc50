-- Plural snake case; a category has a parent; an order has two addresses.
CREATE TABLE categories (id int PRIMARY KEY, name text NOT NULL, parent_id int REFERENCES categories);
CREATE TABLE products (id int PRIMARY KEY, name text NOT NULL, category_id int NOT NULL REFERENCES categories,
  unit_price numeric(10,2) NOT NULL, in_stock int NOT NULL, launched_on date NOT NULL);
CREATE TABLE addresses (id int PRIMARY KEY, street text NOT NULL, city text NOT NULL, country text NOT NULL);
CREATE TABLE customers (id int PRIMARY KEY, full_name text NOT NULL, email text, country text NOT NULL, tier text NOT NULL,
  signed_up_at timestamptz NOT NULL);
CREATE TABLE coupons (id int PRIMARY KEY, code text NOT NULL, percent_off int NOT NULL, expires_on date NOT NULL);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, billing_address_id int NOT NULL REFERENCES addresses,
  shipping_address_id int NOT NULL REFERENCES addresses, coupon_id int REFERENCES coupons, status text NOT NULL,
  placed_at timestamptz NOT NULL, total numeric(10,2) NOT NULL);
CREATE TABLE order_lines (order_id int NOT NULL REFERENCES orders, product_id int NOT NULL REFERENCES products, quantity int NOT NULL,
  line_price numeric(10,2) NOT NULL, PRIMARY KEY (order_id, product_id));
CREATE TABLE returns (id int PRIMARY KEY, order_id int NOT NULL REFERENCES orders, reason text NOT NULL, refunded numeric(10,2), returned_on date NOT NULL);
INSERT INTO categories VALUES (1, 'Kitchen', NULL), (2, 'Sport', NULL), (3, 'Cookware', 1), (4, 'Cutlery', 1), (5, 'Cycling', 2), (6, 'Camping', 2);
INSERT INTO products SELECT i, (ARRAY['Frying Pan','Stock Pot','Wok','Chef Knife','Bread Knife','Fork Set','Helmet','Bike Lock','Pump','Tent','Sleeping Bag','Stove','Lantern','Kettle'])[i],
  (ARRAY[3,3,3,4,4,4,5,5,5,6,6,6,6,1])[i], (ARRAY[45,60,38,85,30,55,70,25,18,240,110,95,32,49])[i] + 0.9, (i * 11) % 7,
  date '2021-03-01' + i * 70 FROM generate_series(1, 14) i;
INSERT INTO addresses SELECT i, i || ' Mill Road', (ARRAY['Hamburg','Lyon','Ghent','Porto','Hamburg','Munich','Lyon','Turin'])[i],
  (ARRAY['Germany','France','Belgium','Portugal','Germany','Germany','France','Italy'])[i] FROM generate_series(1, 8) i;
INSERT INTO customers SELECT i, (ARRAY['Anna Weber','Bruno Costa','Claire Dubois','Dirk Maes','Elena Ricci','Felix Braun','Greta Vogel','Henri Petit','Ilse Janssen','Jorge Lima','Karla Stein'])[i],
  CASE WHEN i % 4 = 0 THEN NULL ELSE 'c' || i || '@post.example' END,
  (ARRAY['Germany','Portugal','France','Belgium','Italy','Germany','Germany','France','Belgium','Portugal','Germany'])[i],
  (ARRAY['gold','silver','bronze'])[1 + (i * i) % 3], timestamptz '2022-02-03 08:00Z' + i * interval '71 days' FROM generate_series(1, 11) i;
INSERT INTO coupons VALUES (1, 'SPRING10', 10, '2024-05-31'), (2, 'VIP25', 25, '2024-12-31'), (3, 'WELCOME5', 5, '2023-12-31'), (4, 'UNUSED50', 50, '2025-06-30');
INSERT INTO orders SELECT i, 1 + (i * i + i) % 9, 1 + i % 8, 1 + (i * 3) % 8, CASE WHEN i % 4 = 0 THEN 1 + i % 3 END,
  (ARRAY['open','paid','shipped','cancelled','paid','shipped','shipped'])[1 + i % 7], timestamptz '2023-01-09 11:00Z' + i * interval '10 days 3 hours',
  20 + (i * 37) % 211 + i * 0.01 FROM generate_series(1, 51) i;
INSERT INTO order_lines SELECT i, 1 + (i * 5 + k * 4) % 13, 1 + (i + 2 * k) % 5, (SELECT unit_price FROM products p WHERE p.id = 1 + (i * 5 + k * 4) % 13)
  FROM generate_series(1, 51) i, generate_series(0, 2) k WHERE (i + k) % 4 <> 0;
INSERT INTO returns SELECT i, i * 4 + 1, (ARRAY['damaged','wrong size','late'])[1 + i % 3], CASE WHEN i % 5 <> 0 THEN 10 + i * 3.5 END, date '2023-06-01' + i * 23 FROM generate_series(1, 12) i;

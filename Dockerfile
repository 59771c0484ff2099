# shoal with its compiled code. On Linux:
#
#   docker build -t shoal .
#   docker run --rm -it --network host -u "$(id -u):$(id -g)" -v "$PWD:/data" shoal
#   docker run --rm -u "$(id -u):$(id -g)" -v "$PWD:/data" shoal audit release.csv --qi age,zip -k 5
#
# The first command after the build starts the studio, which listens on this machine alone: it needs the host's network.
FROM python:3.12-slim
WORKDIR /opt/shoal
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir '.[studio,exact]' && shoal warm-up
# A user without a home folder copies the compiled code to /tmp.
WORKDIR /data
ENTRYPOINT ["shoal"]
CMD ["studio", "--no-browser"]
